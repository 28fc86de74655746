/** What people and operators see of a limit: the account page, the receipt and its file, the admin API, the log and the metrics. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMetrics } from '../../../../src/observability/metrics/metrics.ts'
import { run } from '../../../app/run.ts'
import { adminCaller } from '../../../support/admin.ts'
import { claimsOf } from '../../../support/app.ts'
import { type LimitApp, startLimitApp, WEEKLY } from '../../../support/limits.ts'
import { receiptsOf, signInToAccount } from '../../../support/signed-app.ts'
import { Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'grantor-limits-'))
const metrics = createMetrics()
let app: LimitApp
let token: string
let grantId: string
let receiptId: string
beforeAll(async () => {
  app = await startLimitApp({ admin: true, metrics })
  await app.register(WEEKLY)
  token = (await app.signedTokens({ uses: '20', each: '50.00', amount: '400' })).access_token
  grantId = claimsOf(token).grant_id
  receiptId = (await app.grantor.store.grants.readGrant(grantId))?.receiptId ?? ''
  await app.draw(token, { key: 'first' })
  await app.draw(token, { key: 'first' })
  await app.draw(token, { key: 'second', amount: '1000' })
  await app.giveBack({ grant_id: grantId, key: 'second', amount: '250' })
  await app.draw(token, { key: 'above', amount: '5001' })
})
afterAll(async () => {
  rmSync(FOLDER, { recursive: true })
  await app.close()
})

const open = (path: string, walk = app.walk) => walk.browse({ path })
const textOf = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

describe('The owner of the wallet', () => {
  test('The account page shows what was signed, used and left of a limit, and reads no draw', async () => {
    const { draws } = app.grantor.store
    const listed: unknown[] = []
    const { listDraws } = draws
    draws.listDraws = (...given) => {
      listed.push(given)
      return listDraws(...given)
    }
    const { body } = await open('/account')
    draws.listDraws = listDraws
    expect(textOf(body)).toContain(
      'Times a week You signed 20 Used 2 Left 18 NESO each time You signed 50.00 NESO a week You signed 400.00 Used 52.50 Left 347.50',
    )
    expect(body).toContain(`href="/account/receipts/${receiptId}#uses"`)
    expect(listed).toEqual([])
  })

  test('The receipt shows the limit as the wallet signed it, and apart from it the uses that the service counted', async () => {
    const { body } = await open(`/account/receipts/${receiptId}`)
    const [signed = '', counted = ''] = body.split('id="uses"').map(textOf)
    expect(signed).toContain('Times a week 20 NESO each time 50.00 NESO a week 400.00')
    expect(signed).not.toContain('Use 1')
    expect(counted).toContain('Your wallet did not sign this part.')
    expect(counted).toMatch(/Use 2 , .* UTC 10\.00 NESO 2\.50 NESO given back Use 1 , .* UTC 45\.00 NESO/)
  })

  test('A receipt shows the newest 20 uses, and a link without script leads to the older ones', async () => {
    await app.register({ ...WEEKLY, uses: 30 })
    const many = (await app.signedTokens()).access_token
    await app.register(WEEKLY)
    const id = (await app.grantor.store.grants.readGrant(claimsOf(many).grant_id))?.receiptId
    for (let n = 1; n <= 20; n++) await app.draw(many, { key: `many-${n}`, amount: '100' })
    expect((await open(`/account/receipts/${id}`)).body).not.toContain('id="older"')
    await app.draw(many, { key: 'many-21', amount: '100' })
    const path = /<a href="([^"]+)" id="older"/.exec((await open(`/account/receipts/${id}`)).body)?.[1] ?? ''
    expect(path).toBe(`/account/receipts/${id}?before=2#uses`)
    const older = (await open(path.replace('#uses', ''))).body
    expect(textOf(older)).toContain('Use 1')
    expect(textOf(older)).not.toContain('Use 2 ,')
  })

  test('The downloaded receipt has the uses in not_signed, and grantor verify-receipt prints them apart', async () => {
    const answer = await open(`/account/receipts/${receiptId}.json`)
    const file = answer.json()
    expect(Object.keys(file)).toEqual(['message', 'signature', 'address', 'chain_id', 'not_signed'])
    const draw = { at: expect.any(Number) }
    expect(file.not_signed).toEqual({
      issuer: app.grantor.authUrl,
      at: expect.any(Number),
      draws: [
        { draw: 2, ...draw, amount: 1000, returned: 250 },
        { draw: 1, ...draw, amount: 4500 },
      ],
    })
    const path = join(FOLDER, 'receipt.json')
    await writeFile(path, answer.body)
    const { exit, out } = await run(['verify-receipt', path], {}, app.grantor.clock.now())
    expect(exit).toBe(0)
    const [signed = '', counted = ''] = out.split('The rest of the file is not signed.')
    expect(signed).toContain('at most 20 times a week, 50.00 NESO each, 400.00 a week')
    expect(signed).not.toContain('10.00 NESO')
    expect(counted).toMatch(/Use 2 +\S+ \S+ UTC, 10\.00 NESO, 2\.50 NESO given back/)
    const verdict = JSON.parse((await run(['verify-receipt', path, '--json'], {}, app.grantor.clock.now())).out)
    expect(verdict).toMatchObject({ verdict: 'holds', consent: { limit: { scope: 'enhancement' } }, not_signed: file.not_signed })
  })

  test.each([
    ['a member more', { extra: 1 }],
    ['a text as an amount', { draws: [{ draw: 1, at: 1, amount: '4500' }] }],
    ['a line break in the issuer', { issuer: 'https://auth.example.com\nForged' }],
  ])('A file whose not_signed has %s is no receipt', async (_name, change) => {
    const file = (await open(`/account/receipts/${receiptId}.json`)).json() as { not_signed: object }
    const path = join(FOLDER, 'receipt.json')
    await writeFile(path, JSON.stringify({ ...file, not_signed: { ...file.not_signed, ...change } }))
    const { exit, out } = await run(['verify-receipt', path], {}, app.grantor.clock.now())
    expect([exit, out.split('\n')[0]]).toEqual([1, 'This is not a receipt.'])
  })

  test('The receipt of a consent without a limit keeps its four members, and is none with not_signed', async () => {
    const walk = new Walk(app.grantor, testWallet(1))
    const client = await app.grantor.createClient({ scopes: ['profile'], consent: 'signed' })
    await walk.signIn({
      client_id: client.id,
      redirect_uri: client.redirectUris[0] ?? '',
      response_type: 'code',
      scope: 'profile',
    })
    const [receipt] = await receiptsOf(app.grantor, walk.wallet)
    const file = (await open(`/account/receipts/${receipt?.id}.json`, walk)).json()
    expect(Object.keys(file)).toEqual(['message', 'signature', 'address', 'chain_id'])
    const path = join(FOLDER, 'receipt.json')
    await writeFile(path, JSON.stringify({ ...file, not_signed: { issuer: 'https://a.example', at: 1, draws: [] } }))
    expect((await run(['verify-receipt', path], {}, app.grantor.clock.now())).exit).toBe(1)
  })

  test('The uses of another wallet are answered like a receipt that does not exist', async () => {
    const stranger = new Walk(app.grantor, testWallet(2))
    await signInToAccount(stranger)
    for (const path of [`/account/receipts/${receiptId}?before=3`, `/account/receipts/${receiptId}.json`])
      expect((await open(path, stranger)).status).toBe(404)
  })
})

describe('Operators', () => {
  test('The admin API returns what was signed, used and left, and the draws page by page', async () => {
    const auditor = await adminCaller(app.grantor, 'auditor', ['admin.read'])
    const grant = (await auditor.call('GET', `/v1/grants/${grantId}`)).json()
    expect(grant.limit).toMatchObject({
      scope: 'enhancement',
      signed: { ...WEEKLY, amount: 40_000 },
      used: { uses: 2, amount: 5250 },
      left: { uses: 18, amount: 34_750 },
      draws: 2,
    })
    const page = (await auditor.call('GET', `/v1/draws?grant_id=${grantId}&limit=1`)).json() as { items: object[]; next: string }
    expect(page.items).toMatchObject([{ draw: 2, key: 'second', amount: 1000, returned: 250, client_id: app.api.id }])
    const last = (await auditor.call('GET', `/v1/draws?grant_id=${grantId}&limit=1&after=${page.next}`)).json()
    expect(last).toMatchObject({ items: [{ draw: 1, key: 'first', amount: 4500, returned: null }], next: null })
    expect((await auditor.call('GET', `/v1/draws?grant_id=${randomUUID()}`)).status).toBe(404)
    expect((await auditor.call('GET', '/v1/draws')).status).toBe(422)
    expect((await auditor.call('GET', `/v1/draws?grant_id=${grantId}&limit=101`)).status).toBe(422)
    const other = await adminCaller(app.grantor, 'auditor', ['admin.audit'])
    expect((await other.call('GET', `/v1/draws?grant_id=${grantId}`)).status).toBe(403)
  })

  test('Draws are counted by result, and repeats, returns and refusals apart', async () => {
    const text = await metrics.render()
    const count = (result: string) => Number(new RegExp(`grantor_draws_total\\{result="${result}"\\} (\\d+)`).exec(text)?.[1])
    expect([count('repeated'), count('returned'), count('each_exceeded'), count('uses_exceeded')]).toEqual([1, 1, 1, 0])
    expect(count('drawn')).toBeGreaterThanOrEqual(2)
  })

  test('The line of the new grant has the limit in words, and no draw has a line', () => {
    const lines = app.grantor.events.filter((event) => event.grant_id === grantId)
    expect(lines).toMatchObject([
      { event: 'code_redeemed', limit: 'enhancement at most 20 times a week, 50.00 NESO each, 400.00 a week' },
    ])
  })
})
