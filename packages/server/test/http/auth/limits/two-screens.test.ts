/** A limit that a wallet on another device signs, from the QR code to what is left. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Address } from '../../../../src/protocol/wallet/address.ts'
import { readConsent } from '../../../../src/protocol/wallet/read-consent.ts'
import { claimsOf } from '../../../support/app.ts'
import { compareOn, type Offer, offerOf, openUrl } from '../../../support/cross-device.ts'
import { API, type LimitApp, proveWith, startLimitApp, WEEKLY } from '../../../support/limits.ts'
import { type Answer, movingTo, parameterOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

const CHOSEN = { uses: '2', each: '1', amount: '2' }
const LOWERED = { ...WEEKLY, uses: 2, each: 100, amount: 200 }

let app: LimitApp
let browser: Walk
let phone: Walk
beforeAll(async () => {
  app = await startLimitApp()
})
afterAll(() => app.close())
beforeEach(async () => {
  await app.register(WEEKLY)
  browser = new Walk(app.grantor)
  phone = new Walk(app.grantor, testWallet(1))
})

/** The login page of the browser that begins: what it offers, and the whole challenge as a link. */
async function begin(more: Record<string, string> = {}): Promise<Offer & { whole: string }> {
  const challenge = await browser.challenge(app.request(more))
  const whole = `${app.grantor.authUrl}/login/cross-device?login_challenge=${challenge}`
  return { ...(await offerOf(browser, challenge)), whole }
}

async function tokenFor(page: Answer): Promise<string> {
  return (await browser.exchange(app.client, parameterOf(movingTo(page), 'code'))).json().access_token as string
}

const grants = () => app.grantor.store.grants.listGrants({ wallet: phone.wallet.address as Address, limit: 20 })

test.each(['url', 'whole'] as const)(
  'The other device that opens the link (%s) sees the limit, lowers the numbers and signs, and the browser that began gets the code for them',
  async (link) => {
    const offer = await begin()
    expect(offer.url).toMatch(/\/phone\?[A-Za-z0-9_-]+$/)
    const challenge = await compareOn(phone, offer[link])
    expect((await phone.describe(challenge)).json().limit).toEqual({ scope: 'enhancement', resource: API, ...WEEKLY })
    const { path, message } = await proveWith(phone, challenge, CHOSEN)
    expect(readConsent(message)?.limit).toEqual({ resource: API, scope: 'enhancement', limit: LOWERED })
    expect(message).toContain(offer.code)
    // The other device gets no code.
    expect(movingTo(await phone.complete(path))).toBe('')
    const token = await tokenFor(await openUrl(browser, offer.continue_url))
    expect(claimsOf(token).sub).toBe(phone.wallet.address)
    expect((await app.draw(token, { amount: '100' })).json()).toMatchObject({ draw: 1, left: { uses: 1, amount: 100 } })
  },
)

describe('A limit that another device signs', () => {
  test('One signature gives one code and one counter, also if both devices load their last pages several times at once', async () => {
    const { url, continue_url: onward } = await begin()
    const { path } = await proveWith(phone, await compareOn(phone, url), CHOSEN)
    await Promise.all([phone.complete(path), phone.copy().complete(path), phone.complete(path)])
    const pages = await Promise.all(Array.from({ length: 5 }, () => openUrl(browser.copy(), onward)))
    const done = pages.filter(({ status }) => status === 200)
    expect(pages.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409, 409])
    const [page] = done as [Answer]
    const before = (await grants()).length
    const token = await tokenFor(page)
    for (const again of [await phone.complete(path), await openUrl(browser, onward)]) expect(movingTo(again)).toBe('')
    expect(await grants()).toHaveLength(before + 1)
    expect((await app.draw(token, { amount: '100' })).json()).toMatchObject({ draw: 1, left: { uses: 1, amount: 100 } })
    // The code a second time ends the grant, and with it the only counter.
    await tokenFor(page)
    expect(await grants()).toHaveLength(before + 1)
    expect((await app.draw(token, { amount: '100' })).json().error).toBe('token_inactive')
  })

  test('A second device that signs higher numbers for the same login is refused, before the code and after it', async () => {
    const { url, continue_url: onward } = await begin()
    const second = new Walk(app.grantor, phone.wallet)
    const other = await compareOn(second, url)
    await phone.complete((await proveWith(phone, await compareOn(phone, url), CHOSEN)).path)
    const attempt = async () => {
      const claim = { login_challenge: other, address: second.wallet.address, chain_id: 1 }
      const message = (await second.loginApi('/login/message', claim)).json().message as string
      return (await second.loginApi('/login/accept', { ...claim, signature: second.wallet.sign(message) })).json().error
    }
    expect(await attempt()).toBe('signed_on_other_device')
    const token = await tokenFor(await openUrl(browser, onward))
    expect(await attempt()).toBe('signed_on_other_device')
    expect((await app.left(token)).left).toMatchObject({ uses: 2, amount: 200 })
  })

  test('If the user declines the limit on the other device, the browser gets a code for the other scopes, and nothing can be drawn', async () => {
    const { url, continue_url: onward } = await begin({ scope: 'enhancement profile' })
    const { path, message } = await proveWith(phone, await compareOn(phone, url), { uses: '0' })
    expect(message).not.toContain('Limit:')
    await phone.complete(path)
    const token = await tokenFor(await openUrl(browser, onward))
    expect(claimsOf(token).scope).toBe('profile')
    expect((await app.draw(token)).json().error).toBe('no_limit')
  })

  test('If the login continues in the browser of a wallet app, the signature there creates no counter, and the next request of the app needs another', async () => {
    const challenge = await browser.challenge(app.request())
    const { resume_url: link } = (await browser.describe(challenge)).json()
    const resumed = parameterOf((await openUrl(phone, link as string)).location, 'login_challenge')
    expect((await phone.describe(resumed)).json().limit).toEqual({ scope: 'enhancement', resource: API, ...WEEKLY })
    const before = await grants()
    const done = await phone.complete((await proveWith(phone, resumed, CHOSEN)).path)
    expect([done.status, done.body.includes('code=')]).toEqual([200, false])
    await phone.challenge(app.request())
    expect(await grants()).toEqual(before)
  })
})
