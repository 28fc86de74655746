import { expect } from 'vitest'
import { test as base, FILE, started } from '../../support/fixtures.ts'
import { contentOf } from '../../support/walk.ts'
import { testWallet } from '../../support/wallet.ts'
import { OPEN_CHALLENGE, refusal } from './auth-stand-in.ts'
import { startLoginServer } from './start-login-server.ts'

const open = { login_challenge: OPEN_CHALLENGE, address: testWallet(0).address }
/** The longest signature of a contract wallet that the login server accepts. */
const LONGEST = `0x${'ab'.repeat(4095)}`
const test = base.extend(
  'login',
  FILE,
  started(startLoginServer, (login) => login.close()),
)

test.afterEach(({ login }) => {
  login.auth.answers.clear()
  login.auth.asked.length = 0
})

test('A signature of 8,192 characters is sent to the auth service byte for byte, from a script and from a form', async ({
  login,
}) => {
  expect(LONGEST).toHaveLength(8192)
  await login.postJson('/login', { ...open, chain_id: 1, signature: LONGEST })
  await login.postForm('/login', { ...open, signature: ` ${LONGEST}\r\n` })
  const received = login.auth.asked.filter(({ path }) => path === '/login/accept').map(({ body }) => body.signature)
  expect(received).toEqual([LONGEST, LONGEST])
})

test('A signature of more than 8,192 characters gets 413 and is not sent to the auth service', async ({ login }) => {
  expect((await login.postJson('/login', { ...open, chain_id: 1, signature: `${LONGEST}ab` })).status).toBe(413)
  expect((await login.postForm('/login', { ...open, signature: `${LONGEST}ab` })).status).toBe(413)
  expect(login.auth.asked.filter(({ path }) => path === '/login/accept')).toEqual([])
})

test.for<[status: number, error: string, words: string]>([
  [503, 'temporarily_unavailable', 'We could not check your signature right now. Nothing is lost'],
  [429, 'temporarily_unavailable', 'There were too many failed attempts. Your signature is still here'],
])(
  'A signature that could not be checked is shown again in its field, with the time to wait: %i',
  async ([status, error, words], { login }) => {
    login.auth.answers.set('/login/accept', refusal(status, error, { 'retry-after': '7' }))
    const answer = await login.postForm('/login', { ...open, scope: 'profile', signature: LONGEST })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('retry-after')).toBe('7')
    const page = await answer.text()
    expect(page).toContain(words)
    expect(page).toContain('wait 7 seconds')
    expect(page).toContain(`>${LONGEST}</textarea>`)
    expect(page).toContain('<input type="hidden" name="scope" value="profile">')
    expect(contentOf(page)).not.toContain('aria-invalid')
  },
)

test('If a signature could not be checked, a script gets the status, the error and Retry-After', async ({ login }) => {
  login.auth.answers.set('/login/accept', refusal(503, 'temporarily_unavailable', { 'retry-after': '7' }))
  const answer = await login.postJson('/login', { ...open, chain_id: 1, signature: LONGEST })
  expect(answer.status).toBe(503)
  expect(answer.headers.get('retry-after')).toBe('7')
  expect(await answer.json()).toMatchObject({ error: 'temporarily_unavailable' })
})

test('A signature that was refused as wrong is not shown again', async ({ login }) => {
  login.auth.answers.set('/login/accept', refusal(401, 'not_proven'))
  const page = await (await login.postForm('/login', { ...open, signature: LONGEST })).text()
  expect(page).toContain('was not made with')
  expect(page).not.toContain(LONGEST)
})
