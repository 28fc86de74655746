/** `npm run capacity`, and the table of docs/operating/capacity.md. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Load, planFor, USUAL } from '../../../../scripts/capacity/model.ts'
import { blockWith } from '../support/page-blocks.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const PAGE = join(ROOT, 'docs/operating/capacity.md')
const BLOCK = /(<!-- capacity -->\n).*?(<!-- end of capacity -->)/s

function capacity(...options: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/capacity.ts', ...options], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return { status, out: stdout, err: stderr }
}

const load = (changes: Partial<Load>): Load => ({ ...USUAL, users: 10_000_000, ...changes })

// After a change of the costs, this command writes the table: npx vitest run packages/server/test/scripts/capacity -u
test('The table of docs/operating/capacity.md is what the command prints without options', async () => {
  const page = readFileSync(PAGE, 'utf8')
  const expected = page.replace(BLOCK, (_, before: string, after: string) => `${before}\n${capacity().out}\n${after}`)
  await expect(expected).toMatchFileSnapshot(PAGE)
})

test('The command of docs/operating/capacity.md prints a table for its own load', () => {
  const [, options = ''] = /^npm run capacity -- (.+)$/m.exec(blockWith('operating/capacity.md', 'npm run capacity')) ?? []
  const { status, out, err } = capacity(...options.split(' '))
  expect([status, err]).toEqual([0, ''])
  expect(out).toContain('| users | 5,000,000 | 50,000,000 |')
  expect(out).toContain('introspections a second')
})

test('Ten times as many users need ten times the rates, the room and the cores of the database', () => {
  const [small, large] = [planFor(load({})), planFor(load({ users: 100_000_000 }))]
  for (const of of [
    (plan: typeof small) => plan.rates.refresh,
    (plan: typeof small) => plan.room,
    (plan: typeof small) => plan.log,
    (plan: typeof small) => plan.primary.cores,
    (plan: typeof small) => plan.cluster.coordinatorCores,
  ])
    expect(of(large) / of(small)).toBeCloseTo(10)
})

test('Introspection of every request adds one request for each call of an API, and the feed adds none', () => {
  const introspected = planFor(load({ check: 'introspection' })).rates
  expect(introspected.newToken + introspected.sameToken).toBeCloseTo((10_000_000 * USUAL.calls * USUAL.peak) / 86_400)
  const { newToken, sameToken } = planFor(load({ check: 'feed' })).rates
  expect([newToken, sameToken]).toEqual([0, 0])
})

test('Receipts in an object storage leave the room of the database', () => {
  const [inside, outside] = [planFor(load({})), planFor(load({ receiptsIn: 'objects' }))]
  expect(inside.objects).toBe(0)
  expect(inside.room - outside.room).toBeCloseTo((outside.objects * 4) / 3)
})

test('A load that exceeds the cores, the memory or the log of the largest machine needs a cluster', () => {
  expect(planFor(load({})).fitsOnePrimary).toBe(true)
  expect(planFor(load({ hours: 24, calls: 0, users: 500_000_000 })).fitsOnePrimary).toBe(false)
  expect(planFor(load({ apps: 300, hours: 0 })).fitsOnePrimary).toBe(false)
})

test('An option that cannot be used ends the command with status 2 and names the option', () => {
  expect(capacity('--users', 'many')).toMatchObject({ status: 2, err: expect.stringContaining('--users: many') as string })
  expect(capacity('--check', 'guess')).toMatchObject({ status: 2, err: expect.stringContaining('--check: guess') as string })
  expect(capacity('--token-lifetime', '0')).toMatchObject({ status: 2 })
  expect(capacity('--unknown')).toMatchObject({ status: 2 })
})

test('The help names every option of the command', () => {
  const { status, out } = capacity('--help')
  const source = readFileSync(join(ROOT, 'scripts/capacity.ts'), 'utf8')
  const options = [...(/options: \{\n(.*?)\n {4}\}/s.exec(source)?.[1] ?? '').matchAll(/^ {6}'?([a-z-]+)'?:/gm)].map(
    ([, name]) => `--${name}`,
  )
  expect(status).toBe(0)
  expect(options.filter((name) => name !== '--help' && !out.includes(name))).toEqual([])
  expect(options.length).toBeGreaterThan(10)
})
