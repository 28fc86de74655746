/** docs/for-builders.md is one walk: its commands are pasted here as a reader pastes them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePorts } from '../support/free-ports.ts'

const ROOT = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'grantor-builders-'))
let service: ReturnType<typeof spawn>
let base = 0

beforeAll(async () => {
  ;[base = 0] = await freePorts(1)
  service = spawn(process.execPath, ['bin/grantor.js', 'start', '--ports', String(base), '--data', folder], { cwd: ROOT })
  await new Promise<void>((resolve) => {
    service.stdout?.on('data', (text: Buffer) => text.includes('The demo client') && resolve())
  })
})

afterAll(async () => {
  service.kill('SIGTERM')
  await once(service, 'exit')
  rmSync(folder, { recursive: true, force: true })
})

test("the builder's walk works when pasted: consent, a narrower choice, more scopes, refresh, revocation", async () => {
  const blocks = [...readFileSync(join(ROOT, 'docs/for-builders.md'), 'utf8').matchAll(/```sh\n(.*?)```/gs)].map(
    ([, block = '']) => block,
  )
  const script = blocks
    .map((block, index) => `echo "== ${index}"\n${block}`)
    .join('\n')
    .replaceAll('./data', folder)
    .replaceAll(/localhost:400([0-3])/g, (_, digit: string) => `localhost:${base + Number(digit)}`)
  const [, ...outputs] = (await bash(script)).split(/^== \d+\n/m)
  const [shown, metadata, first, again, narrower, more, updated, refreshed, ended, silent, native, api] = outputs
  expect(shown).toContain('signed')
  expect(JSON.parse(metadata ?? '')).toMatchObject({ issuer: `http://localhost:${base}` })
  expect(JSON.parse(first ?? '')).toMatchObject({ token_type: 'Bearer', scope: 'enhancement' })
  expect(again).toMatch(/^https:\/\/app\.example\.net\/callback\?code=grc\..*&state=af0ifjsl&iss=/)
  expect(JSON.parse(narrower ?? '')).toMatchObject({ scope: 'profile' })
  expect(JSON.parse(more ?? '')).toMatchObject({ scope: 'enhancement profile' })
  expect(updated).toContain('history')
  expect(JSON.parse(refreshed ?? '')).toMatchObject({ scope: 'enhancement profile' })
  expect(ended?.split('\n').slice(0, 2)).toEqual(['200', '{"active":false}'])
  expect(silent).toContain('error=consent_required')
  expect(native).toContain('com.example.app:/callback')
  expect(JSON.parse(api ?? '')).toMatchObject({ name: 'My API', client_secret: expect.any(String) as string })
})

async function bash(script: string): Promise<string> {
  const shell = spawn('bash', ['-c', `set -e\n${script}`], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  shell.stdout.on('data', (text: Buffer) => {
    output += text.toString()
  })
  await once(shell, 'close')
  return output
}
