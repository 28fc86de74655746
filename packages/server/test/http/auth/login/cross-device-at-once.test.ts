/** Many logins at the same time: those that a wallet on another device signs, and those that a wallet in the browser signs. */
import { expect } from 'vitest'
import { offerOf, openUrl, signOn } from '../../../support/cross-device.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { signedClient } from '../../../support/signed-app.ts'
import { CODE_VERIFIER, movingTo, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

const LOGINS = 200
const AT_ONCE = 25

const test = base.extend('client', FILE, ({ grantor }) => signedClient(grantor))

test('Of 200 logins, 25 at a time, on two screens and on one, each browser gets its own state and the wallet that compared its letters', async ({
  grantor,
  client,
}) => {
  const codes = new Set<string>()
  const sessions = new Set<string>()

  const at = (walk: Walk, i: number) => Object.assign(walk, { clientIp: `100.${64 + (i >> 8)}.${i & 255}.1` })
  const login = async (i: number) => {
    const browser = at(new Walk(grantor, testWallet((i % 2) as 0 | 1)), i)
    const challenge = await browser.challenge(requestOf(client, { state: `state-${i}`, prompt: 'login', ...PKCE }))
    const offer = await offerOf(browser, challenge)
    codes.add(offer.code)
    if (i % 3 === 0) return { browser, wallet: browser.wallet, page: await browser.complete(await browser.prove(challenge)) }
    const device = at(new Walk(grantor, testWallet(((i % 2) + 1) as 1 | 2)), i)
    expect((await openUrl(device, offer.url)).body).toContain(offer.code)
    await signOn(device, offer.url)
    expect(device.cookies.has('grantor_session')).toBe(false)
    return { browser, wallet: device.wallet, page: await openUrl(browser, offer.continue_url) }
  }
  const check = async (i: number) => {
    const { browser, wallet, page } = await login(i)
    const to = movingTo(page)
    const tokens = await browser.exchange(client, parameterOf(to, 'code'), { code_verifier: CODE_VERIFIER })
    const { sub } = (await browser.introspect(client, String(tokens.json().access_token))).json()
    expect([parameterOf(to, 'state'), sub]).toEqual([`state-${i}`, wallet.address])
    sessions.add(browser.cookies.get('grantor_session') ?? '')
  }

  const rest = Array.from({ length: LOGINS }, (_, i) => i)
  const work = async () => {
    for (let i = rest.pop(); i !== undefined; i = rest.pop()) await check(i)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  expect([codes.size, sessions.size]).toEqual([LOGINS, LOGINS])
})
