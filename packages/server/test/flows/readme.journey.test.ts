import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sixInARow } from '../support/free-ports.ts'
import { LIFETIMES } from '../support/start.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const folder = mkdtempSync(join(tmpdir(), 'grantor-readme-'))
let service: ReturnType<typeof spawn>
let base: number

beforeAll(async () => {
  base = await sixInARow()
  service = spawn(process.execPath, ['packages/server/bin/grantor.js', 'start', '--ports', String(base), '--data', folder], {
    cwd: ROOT,
  })
  await new Promise<void>((resolve) => {
    service.stdout?.on('data', (text: Buffer) => text.includes('The demo client') && resolve())
  })
})

afterAll(async () => {
  service.kill('SIGTERM')
  await once(service, 'exit')
  rmSync(folder, { recursive: true, force: true })
})

test('The curl commands of the README work when pasted: all four phases, a revoked token that stops working at once, and a limit', async () => {
  const [twoCommands, ...walk] = [...readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/```sh\n(.*?)```/gs)].map(
    ([, block = '']) => block,
  )
  expect(twoCommands).toContain('npm ci && npm start')
  const script = walk
    .join('\n')
    .replaceAll('./data', folder)
    .replaceAll(/localhost:400([0-3])/g, (_, digit: string) => `localhost:${base + Number(digit)}`)

  const lines = (await bash(script)).trim().split('\n')

  const wallet = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
  const answers = lines.map((line) => JSON.parse(line) as unknown)
  expect(answers).toEqual([
    expect.objectContaining({ wallet }),
    expect.objectContaining({ token_type: 'Bearer', expires_in: LIFETIMES.accessToken, scope: 'enhancement' }),
    expect.objectContaining({ active: true, sub: wallet }),
    200,
    { active: false },
    expect.objectContaining({ error: 'invalid_token' }),
    { item: 'helmet', cost: 4500, left: { uses: 2, amount: 7000 } },
    { item: 'helmet', cost: 4500, left: { uses: 2, amount: 7000 } },
    { item: 'sword', cost: 4500, left: { uses: 1, amount: 2500 } },
    expect.objectContaining({ error: 'insufficient_scope' }),
  ])
})

async function bash(script: string): Promise<string> {
  const shell = spawn('bash', ['-c', `set -e\n${script}`], { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  shell.stdout.on('data', (text: Buffer) => {
    output += text.toString()
  })
  await once(shell, 'close')
  return output
}
