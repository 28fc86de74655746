import { expect, test } from 'vitest'
import { type Finding, ok, type Site } from '../../../src/app/doctor/check.ts'
import { runChecks } from '../../../src/app/doctor/run-checks.ts'

const site = { now: () => 0 } as unknown as Site

test('A check that does not end, and one that throws, are reported as not checked, and the others are reported as usual', async () => {
  const checks = [
    { name: 'endless', run: () => new Promise<never>(() => undefined) },
    { name: 'broken', run: () => Promise.reject(new TypeError('with a secret')) },
    { name: 'fine', run: async () => [ok('well')] },
  ]
  const findings: Finding[] = []
  for await (const found of runChecks(checks, site, 50)) findings.push(...found)
  expect(findings).toEqual([
    { check: 'endless', verdict: 'unchecked', found: 'no result within 0.05 seconds', remedy: 'Run grantor doctor again.' },
    { check: 'broken', verdict: 'unchecked', found: 'the check failed (TypeError)', remedy: 'Please report this.' },
    { check: 'fine', verdict: 'ok', found: 'well', remedy: null },
  ])
})
