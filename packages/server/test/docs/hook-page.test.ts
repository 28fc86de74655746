/** Every block of docs/operating/hook.md: the settings, the question, the answers, and both receivers. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { readSettings } from '../../src/config/settings.ts'
import { readAnswer } from '../../src/domain/hook/answer.ts'
import { newFolder } from '../app/run.ts'
import { appOf } from '../support/app.ts'
import { freePorts } from '../support/free-ports.ts'
import { HOOK_SECRET, startHook } from '../support/hook.ts'
import { OWN_ENVIRONMENT } from '../support/own-environment.ts'
import { blocksOf } from '../support/page-blocks.ts'
import { startGrantor, TEST_LOGIN_SECRET, TEST_SECRET } from '../support/start.ts'
import { movingTo, parameterOf, requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

const BLOCKS = blocksOf('operating/hook.md')
const textOf = (mark: string) => BLOCKS.find((block) => block.mark === mark)?.text ?? expect.fail(`no block ${mark}`)

test('Each block of docs/operating/hook.md is tested in this file', () => {
  expect(BLOCKS.map(({ mark }) => mark)).toEqual(['settings', 'helm', 'compose', 'question', 'answers', 'hook.mjs', 'hook.py'])
})

test('The settings are accepted by grantor serve, and those for Compose and Helm name the same settings', () => {
  const env = execFileSync('bash', ['--norc', '-c', `set -a\n${textOf('settings')}\nenv`], {
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
  })
  const settings = Object.fromEntries(env.split('\n').map((line) => line.split(/=(.*)/s, 2)))
  const { GRANTOR_HOOK_URL, GRANTOR_HOOK_SECRET } = settings as Record<string, string>
  const required = {
    GRANTOR_AUTH_URL: 'https://auth.example.com',
    GRANTOR_LOGIN_URL: 'https://login.example.com',
    GRANTOR_DATABASE_URL: 'sqlite:grantor.sqlite',
    GRANTOR_SECRET: TEST_SECRET,
    GRANTOR_LOGIN_SECRET: TEST_LOGIN_SECRET,
  }
  const reading = readSettings('serve', { ...required, GRANTOR_HOOK_URL, GRANTOR_HOOK_SECRET })
  expect(reading).not.toHaveProperty('faults')
  expect(parse(textOf('helm'))).toEqual({
    secret: { name: 'grantor', hookSecret: true },
    settings: { GRANTOR_HOOK_URL },
  })
  expect(parse(textOf('compose'))).toMatchObject({
    services: { auth: { environment: { GRANTOR_HOOK_URL, GRANTOR_HOOK_SECRET_FILE: '/run/secrets/hook-secret' } } },
    secrets: { 'hook-secret': { file: './secrets/hook-secret' } },
  })
})

test('The question has the members of a real question, and each answer is accepted', async () => {
  const hook = await startHook()
  const grantor = await startGrantor({ environment: hook.environment })
  onTestFinished(async () => {
    await grantor.close()
    await hook.close()
  })
  const client = await grantor.createClient()
  const walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
  await walk.refresh(client, (await appOf(grantor, client, walk).freshTokens()).refresh_token)
  const shown = JSON.parse(textOf('question')) as { data: object }
  const real = JSON.parse(hook.host.requests.at(-1)?.body ?? '{}') as { data: object }
  expect([Object.keys(shown), Object.keys(shown.data)]).toEqual([Object.keys(real), Object.keys(real.data)])
  const asked = shown.data as { scopes: string[]; resources: string[] }
  const answers = textOf('answers').trim().split('\n')
  const response = { kind: 'answered', status: 200, headers: { 'content-type': 'application/json' } } as const
  expect(answers.map((body) => readAnswer({ ...response, body }, asked))).toEqual([
    { kind: 'allowed', scopes: null, claims: null, note: '', validFor: 0 },
    { kind: 'refused', note: 'not on the list', validFor: 0 },
    { kind: 'allowed', scopes: ['openid', 'notes.read'], claims: null, note: '', validFor: 60 },
    {
      kind: 'allowed',
      scopes: null,
      claims: { 'https://api.example.com/': { 'https://example.com/plan': 'pro', 'https://example.com/roles': ['editor'] } },
      note: '',
      validFor: 0,
    },
  ])
})

const PROGRAMS = [
  ['hook.mjs', process.execPath],
  ['hook.py', 'python3'],
] as const

const hasProgram = (program: string) => spawnSync(program, ['--version']).status === 0

describe.each(PROGRAMS)('The receiver %s', (file, program) => {
  test.skipIf(!hasProgram(program))(
    'Allows the wallet of its list, refuses another, and refuses a question with a wrong signature or time',
    async () => {
      const url = await startReceiver(file, program)
      const grantor = await startGrantor({
        environment: { GRANTOR_HOOK_URL: url, GRANTOR_HOOK_SECRET: HOOK_SECRET, GRANTOR_HOOK_TIMEOUT_MS: '10000' },
      })
      onTestFinished(() => grantor.close())
      const client = await grantor.createClient()
      expect((await new Walk(grantor).signIn(requestOf(client))).code).not.toBe('')
      const other = new Walk(grantor, testWallet(1))
      const answer = await other.complete(await other.prove(await other.challenge(requestOf(client))))
      expect(parameterOf(movingTo(answer), 'error')).toBe('access_denied')

      const body = JSON.stringify({ data: { wallet: testWallet(0).address } })
      const at = Math.floor(Date.now() / 1000)
      const right = signed(body, at)
      expect(await post(url, body, right)).toBe(200)
      expect(await post(url, body, { ...right, 'webhook-signature': `v1,AAAA ${right['webhook-signature']}` })).toBe(200)
      expect(await post(url, `${body} `, right), 'another body').toBe(401)
      expect(await post(url, body, { ...right, 'webhook-id': 'other' })).toBe(401)
      expect(await post(url, body, signed(body, at - 400)), 'an old question').toBe(401)
      expect(await post(url, body, { ...right, 'webhook-timestamp': 'soon' })).toBe(401)
      expect(await post(url, body, signed(body, at, Buffer.alloc(32, 'x')))).toBe(401)
    },
  )

  test.skipIf(!hasProgram(program))('Answers a question after callers without the secret tried to stop it', async () => {
    const url = await startReceiver(file, program)
    const body = JSON.stringify({ data: { wallet: testWallet(0).address } })
    const right = signed(body, Math.floor(Date.now() / 1000))
    const letters = 'é'.repeat(right['webhook-signature'].length)
    expect(await post(url, body, { ...right, 'webhook-signature': letters }), 'no letters of base64').toBe(401)
    expect(await post(url, 'x'.repeat(1_000_000), right).catch(() => 413), 'a long body').toBe(413)
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' })
    socket.end('POST / HTTP/1.1\r\nhost: hook\r\ncontent-length: 10\r\n\r\n{')
    await once(socket.resume(), 'close')
    expect(await post(url, body, right)).toBe(200)
  })
})

/** Returns the address of the receiver. */
async function startReceiver(file: string, program: string): Promise<string> {
  const [port = 0] = await freePorts(1)
  const path = join(newFolder(), file)
  writeFileSync(path, textOf(file))
  const child = spawn(program, [path], { env: { ...OWN_ENVIRONMENT, HOOK_SECRET, PORT: String(port) }, stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}/`
  await expect.poll(() => post(url, '{}', {}).catch(() => 0)).toBe(401)
  return url
}

async function post(url: string, body: string, headers: Record<string, string>): Promise<number> {
  return (await fetch(url, { method: 'POST', body, headers })).status
}

function signed(body: string, at: number, key = Buffer.from(HOOK_SECRET.replace('whsec_', ''), 'base64')) {
  const signature = createHmac('sha256', key).update(`id.${at}.${body}`).digest('base64')
  return { 'webhook-id': 'id', 'webhook-timestamp': String(at), 'webhook-signature': `v1,${signature}` }
}
