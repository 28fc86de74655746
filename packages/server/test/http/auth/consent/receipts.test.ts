/** The receipt of a signed consent is stored sealed. Only the owner of the wallet can view and download the receipt. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pageHeaders } from '../../../../src/pages/page-headers.ts'
import { readConsent } from '../../../../src/protocol/wallet/read-consent.ts'
import { checkReceipt } from '../../../../src/protocol/wallet/receipt.ts'
import { pack } from '../../../../src/store/packed.ts'
import type { App } from '../../../support/app.ts'
import { headersOf } from '../../../support/refusals.ts'
import { storedBytes } from '../../../support/rows.ts'
import { API, receiptsOf, signInToAccount, startSignedApp, vouchFor } from '../../../support/signed-app.ts'
import { type Answer, noticeOf, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let app: App
/** the text that the wallet signed, its signature, and the id of the receipt */
let message: string
let signature: string
let id: string
let issuedAt: number

beforeAll(async () => {
  app = await startSignedApp()
  issuedAt = app.grantor.clock.now()
  const challenge = await app.walk.challenge(requestOf(app.client, { scope: 'enhancement profile', resource: API, state: 's' }))
  const proof = await app.walk.proof(challenge, app.walk.wallet, 'profile')
  signature = proof.signature
  message = (await app.walk.loginApi('/login/message', proof)).json().message as string
  await app.walk.complete(await app.walk.prove(challenge, app.walk.wallet, 'profile'))
  id = (await receiptsOf(app.grantor, app.walk.wallet))[0]?.id ?? ''
})
afterAll(() => app.close())

const view = (walk = app.walk, of = id) => walk.browse({ path: `/account/receipts/${of}` })
const download = (walk = app.walk, of = id) => walk.browse({ path: `/account/receipts/${of}.json` })

function expectNotFound(answer: Answer): void {
  expect([answer.status, noticeOf(answer)]).toEqual([404, 'receipt_not_found'])
  expect(answer.headers).toMatchObject(pageHeaders({}))
  expect(answer.headers).not.toHaveProperty('content-disposition')
  expect(answer.body).not.toContain(signature.slice(2, 20))
}

describe('The stored receipt', () => {
  test('A receipt has the wallet, the client, the scopes, the resources and the times of the signed text', async () => {
    const [receipt, ...more] = await receiptsOf(app.grantor, app.walk.wallet)
    expect(more).toEqual([])
    expect(receipt).toMatchObject({
      wallet: app.walk.wallet.address,
      walletKind: 'ordinary',
      chainId: 1,
      clientId: app.client.id,
      redirectUri: app.client.redirectUris[0],
      scopes: ['profile'],
      resources: [API],
      issuedAt,
      expiresAt: issuedAt + 30 * 86_400,
      withdrawnAt: null,
    })
    const consent = readConsent(message)
    expect(consent).toMatchObject({
      address: receipt?.wallet,
      chainId: receipt?.chainId,
      clientId: receipt?.clientId,
      redirectUri: receipt?.redirectUri,
      grants: [{ resource: API, scopes: receipt?.scopes }],
      issuedAt: receipt?.issuedAt,
      until: receipt?.expiresAt,
    })
  })

  test('A receipt is stored sealed: the database contains neither the signature nor the text', async () => {
    const bytes = storedBytes(app.grantor.databasePath)
    const raw = Buffer.from(signature.slice(2), 'hex').toString('latin1')
    expect(bytes).toContain(Buffer.from(pack(id)).toString('latin1'))
    for (const secret of [signature.slice(2, 34), signature.slice(2, 34).toUpperCase(), raw.slice(0, 16), raw.slice(32, 48)]) {
      expect(bytes).not.toContain(secret)
    }
    const nonce = readConsent(message)?.nonce ?? ''
    expect(nonce).toHaveLength(22)
    for (const words of [nonce, 'wants you to sign in', 'I further authorize', 'urn:recap:']) expect(bytes).not.toContain(words)
    for (const text of [message, signature]) {
      expect(bytes).not.toContain(Buffer.from(text).toString('base64').slice(40, 80))
      expect(bytes).not.toContain(Buffer.from(text).toString('base64url').slice(40, 80))
    }
  })

  test('The text and the signature of a receipt are in no log line and no audit event', () => {
    const logged = [...app.grantor.logLines, ...app.grantor.events.map((event) => JSON.stringify(event))].join('\n')
    for (const secret of [signature.slice(2, 34), message.slice(0, 40), app.walk.wallet.address])
      expect(logged).not.toContain(secret)
  })
})

describe('The downloaded receipt', () => {
  test('A downloaded receipt has exactly message, signature, address and chain_id, and can be verified without the service', async () => {
    const receipt = (await download()).json()
    expect(receipt).toEqual({ message, signature, address: app.walk.wallet.address, chain_id: 1 })
    expect(Object.keys(receipt)).toEqual(['message', 'signature', 'address', 'chain_id'])
    const verdict = await checkReceipt(receipt, { now: app.grantor.clock.now() })
    expect(verdict).toMatchObject({
      kind: 'holds',
      expired: false,
      wallet: 'ordinary',
      signed: { kind: 'consent', clientId: app.client.id },
    })
    expect(await checkReceipt(receipt, { now: issuedAt + 30 * 86_400 })).toMatchObject({ kind: 'holds', expired: true })
  })

  test('A receipt is downloaded as a JSON attachment with a file name of its own, no-store and nosniff', async () => {
    const answer = await download()
    expect(headersOf(answer)).toEqual({
      ...pageHeaders({}),
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': `attachment; filename="grantor-receipt-${id}.json"`,
    })
    expect(answer.body.endsWith('}\n')).toBe(true)
  })

  test('A downloaded receipt with a change in any line, the signature, the address or the chain id is invalid', async () => {
    const receipt = (await download()).json() as { message: string; signature: string; address: string; chain_id: number }
    const lines = receipt.message.split('\n')
    for (const [at, line] of lines.entries()) {
      if (line === '') continue
      const changed = [...lines.slice(0, at), line.replace(/.$/, (last) => (last === '1' ? '2' : '1')), ...lines.slice(at + 1)]
      const verdict = await checkReceipt({ ...receipt, message: changed.join('\n') }, { now: issuedAt })
      expect([line, verdict.kind]).toEqual([line, 'does_not_hold'])
    }
    for (const other of [{ chain_id: 8453 }, { address: testWallet(1).address }, { signature: testWallet(1).sign(message) }]) {
      expect((await checkReceipt({ ...receipt, ...other }, { now: issuedAt })).kind).toBe('does_not_hold')
    }
  })
})

describe('The page of a receipt', () => {
  test('The page of a receipt shows its owner, in any browser, the signed text byte for byte, the signature and the app', async () => {
    const elsewhere = new Walk(app.grantor)
    await elsewhere.signIn(requestOf(await app.grantor.createClient()))
    for (const walk of [app.walk, elsewhere]) {
      const page = await view(walk)
      expect(page.status).toBe(200)
      expect(page.headers).toMatchObject(pageHeaders({}))
      expect(page.body).toContain(`\n${message.replaceAll("'", '&#39;')}</pre>`)
      expect(page.body).toContain(signature)
      expect(page.body).toContain(`href="/account/receipts/${id}.json"`)
      expect(page.body).toContain(app.client.name)
    }
  })

  test('A withdrawn receipt is shown as withdrawn, and can still be downloaded unchanged', async () => {
    const walk = new Walk(app.grantor, testWallet(2))
    await walk.signIn(requestOf(app.client))
    const [receipt] = await receiptsOf(app.grantor, walk.wallet)
    const before = await download(walk, receipt?.id)
    await walk.postForm('/account/apps/end', { client_id: app.client.id })
    expect((await view(walk, receipt?.id)).body).toContain('Withdrawn')
    expect((await download(walk, receipt?.id)).body).toBe(before.body)
  })

  test('The receipt of an app that was deleted is still shown, with the host of the app', async () => {
    const walk = new Walk(app.grantor, testWallet(2))
    const gone = await app.grantor.createClient({ redirectUris: ['https://gone.example/cb'] })
    await walk.signIn(requestOf(gone))
    const receipt = (await receiptsOf(app.grantor, walk.wallet)).find(({ clientId }) => clientId === gone.id)
    await app.grantor.store.clients.deleteClient(gone.id)
    await app.grantor.noticeChanges()
    const page = await view(walk, receipt?.id)
    expect(page.status).toBe(200)
    expect(page.body).toContain('gone.example')
  })
})

describe('Access to receipts', () => {
  test('A receipt of another wallet is not found', async () => {
    const other = new Walk(app.grantor, testWallet(1))
    await other.signIn(requestOf(app.client))
    expectNotFound(await view(other))
    expectNotFound(await download(other))
  })

  test('A session of the same wallet that was only vouched for finds and lists no receipts', async () => {
    const vouched = new Walk(app.grantor)
    await vouchFor(vouched, await app.grantor.createClient())
    expectNotFound(await view(vouched))
    expectNotFound(await download(vouched))
    const page = await vouched.browse({ path: '/account' })
    expect(page.status).toBe(200)
    expect(page.body).not.toContain('/account/receipts/')
  })

  test('Without a session, the page and the download of a receipt lead to a login for the account', async () => {
    for (const ask of [view, download]) {
      const stranger = new Walk(app.grantor)
      const answer = await ask(stranger)
      expect([answer.status, answer.body]).toEqual([302, ''])
      const described = (await stranger.describe(parameterOf(answer.location, 'login_challenge'))).json()
      expect(described.purpose).toBe('account')
    }
  })

  test.each(['', '.json', '0', '..%2f..%2fetc', '%00', '0'.repeat(36), `${'-'.repeat(36)}.json`, 'x'.repeat(5000)])(
    'An invalid receipt id (%s) is not found',
    async (text) => {
      const answer = await app.walk.browse({ path: `/account/receipts/${text}` })
      expect([404, 414, 431]).toContain(answer.status)
      expect(answer.body).not.toContain(signature)
    },
  )

  test('The text of a sign-in to the account page is no consent, and is not found as a receipt', async () => {
    const walk = new Walk(app.grantor, testWallet(1))
    await signInToAccount(walk)
    const own = (await receiptsOf(app.grantor, walk.wallet)).find(({ clientId }) => clientId === '')
    expect(own?.id).toMatch(/^[0-9a-f-]{36}$/)
    expectNotFound(await view(walk, own?.id))
    expectNotFound(await download(walk, own?.id))
  })

  test('Viewing and downloading a receipt write nothing', async () => {
    const before = await app.grantor.rows()
    await view()
    await download()
    expect(await app.grantor.rows()).toEqual(before)
  })
})
