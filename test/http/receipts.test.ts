/** A signed consent is kept as it was signed, sealed, for its owner alone to see and to take along. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pageHeaders } from '../../src/pages/page-headers.ts'
import { readConsent } from '../../src/wallet/read-consent.ts'
import { checkReceipt } from '../../src/wallet/receipt.ts'
import type { App } from '../support/app.ts'
import { headersOf } from '../support/refusals.ts'
import { allRows, storedBytes } from '../support/rows.ts'
import { API, receiptsOf, signInToAccount, startSignedApp, vouchFor } from '../support/signed-app.ts'
import { type Answer, noticeOf, parameterOf, requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

let app: App
/** what the wallet signed, and the receipt that came of it */
let message: string
let signature: string
let id: string
let asked: { issuedAt: number; state: string }

beforeAll(async () => {
  app = await startSignedApp()
  asked = { issuedAt: app.grantor.clock.now(), state: 's' }
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

function notFound(answer: Answer): void {
  expect([answer.status, noticeOf(answer)]).toEqual([404, 'receipt_not_found'])
  expect(answer.headers).toMatchObject(pageHeaders())
  expect(answer.headers).not.toHaveProperty('content-disposition')
  expect(answer.body).not.toContain(signature.slice(2, 20))
}

describe('what is kept', () => {
  test('is what was signed: to whom, which of the scopes, where, since when and until when', async () => {
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
      issuedAt: asked.issuedAt,
      expiresAt: asked.issuedAt + 30 * 86_400,
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
      requestId: receipt?.id,
    })
  })

  test('is sealed: neither the signature nor the text is in any byte of the database', async () => {
    const bytes = storedBytes(app.grantor.databasePath)
    const raw = Buffer.from(signature.slice(2), 'hex').toString('latin1')
    expect(bytes).toContain(id)
    for (const secret of [signature.slice(2, 34), signature.slice(2, 34).toUpperCase(), raw.slice(0, 16), raw.slice(32, 48)]) {
      expect(bytes).not.toContain(secret)
    }
    const nonce = readConsent(message)?.nonce ?? ''
    expect(nonce).toHaveLength(32)
    for (const words of [nonce, 'wants you to sign in', 'I further authorize', 'urn:recap:']) expect(bytes).not.toContain(words)
    for (const word of [message, signature]) {
      expect(bytes).not.toContain(Buffer.from(word).toString('base64').slice(40, 80))
      expect(bytes).not.toContain(Buffer.from(word).toString('base64url').slice(40, 80))
    }
  })

  test('is in no log line and no audit event', () => {
    const said = [...app.grantor.logLines, ...app.grantor.events.map((event) => JSON.stringify(event))].join('\n')
    for (const secret of [signature.slice(2, 34), message.slice(0, 40), app.walk.wallet.address])
      expect(said).not.toContain(secret)
  })
})

describe('what its owner takes along', () => {
  test('has exactly message, signature, address and chain_id, and a check without us says that it holds', async () => {
    const receipt = (await download()).json()
    expect(receipt).toEqual({ message, signature, address: app.walk.wallet.address, chain_id: 1 })
    expect(Object.keys(receipt)).toEqual(['message', 'signature', 'address', 'chain_id'])
    const verdict = await checkReceipt(receipt, { now: app.grantor.clock.now() })
    expect(verdict).toMatchObject({ kind: 'holds', expired: false, wallet: 'ordinary', consent: { clientId: app.client.id } })
    expect(await checkReceipt(receipt, { now: asked.issuedAt + 30 * 86_400 })).toMatchObject({ kind: 'holds', expired: true })
  })

  test('comes as a file of its own name that no browser runs, caches or guesses the type of', async () => {
    const answer = await download()
    expect(headersOf(answer)).toEqual({
      ...pageHeaders(),
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': `attachment; filename="grantor-receipt-${id}.json"`,
    })
    expect(answer.body.endsWith('}\n')).toBe(true)
  })

  test('changed in any line, signature or number, it holds no more', async () => {
    const receipt = (await download()).json() as { message: string; signature: string; address: string; chain_id: number }
    const lines = receipt.message.split('\n')
    for (const [at, line] of lines.entries()) {
      if (line === '') continue
      const changed = [...lines.slice(0, at), line.replace(/.$/, (last) => (last === '1' ? '2' : '1')), ...lines.slice(at + 1)]
      const verdict = await checkReceipt({ ...receipt, message: changed.join('\n') }, { now: asked.issuedAt })
      expect([line, verdict.kind]).toEqual([line, 'does_not_hold'])
    }
    for (const other of [{ chain_id: 8453 }, { address: testWallet(1).address }, { signature: testWallet(1).sign(message) }]) {
      expect((await checkReceipt({ ...receipt, ...other }, { now: asked.issuedAt })).kind).toBe('does_not_hold')
    }
  })
})

describe('its page', () => {
  test('shows the text byte for byte, the signature, and what it allows, to its owner in any browser', async () => {
    const elsewhere = new Walk(app.grantor)
    await elsewhere.signIn(requestOf(await app.grantor.createClient()))
    for (const walk of [app.walk, elsewhere]) {
      const page = await view(walk)
      expect(page.status).toBe(200)
      expect(page.headers).toMatchObject(pageHeaders())
      expect(page.body).toContain(`\n${message.replaceAll("'", '&#39;')}</pre>`)
      expect(page.body).toContain(signature)
      expect(page.body).toContain(`href="/account/receipts/${id}.json"`)
      expect(page.body).toContain(app.client.name)
    }
  })

  test('says when it is withdrawn, and still shows what was signed: it stays the person’s own', async () => {
    const walk = new Walk(app.grantor, testWallet(2))
    await walk.signIn(requestOf(app.client))
    const [receipt] = await receiptsOf(app.grantor, walk.wallet)
    const before = await download(walk, receipt?.id)
    await walk.postForm('/account/apps/end', { client_id: app.client.id })
    expect((await view(walk, receipt?.id)).body).toContain('Withdrawn')
    expect((await download(walk, receipt?.id)).body).toBe(before.body)
  })

  test('of an app that was deleted since is still there, by its host', async () => {
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

describe('nobody else’s', () => {
  test('another wallet that knows the id is told that there is none', async () => {
    const other = new Walk(app.grantor, testWallet(1))
    await other.signIn(requestOf(app.client))
    notFound(await view(other))
    notFound(await download(other))
  })

  test('a session of the same wallet that was only vouched for is told the same, and is shown no receipts', async () => {
    const vouched = new Walk(app.grantor)
    await vouchFor(vouched, await app.grantor.createClient())
    notFound(await view(vouched))
    notFound(await download(vouched))
    const page = await vouched.browse({ path: '/account' })
    expect(page.status).toBe(200)
    expect(page.body).not.toContain('/account/receipts/')
  })

  test('without a session both lead to the login page, and back to the account', async () => {
    for (const ask of [view, download]) {
      const stranger = new Walk(app.grantor)
      const answer = await ask(stranger)
      expect([answer.status, answer.body]).toEqual([302, ''])
      const described = (await stranger.describe(parameterOf(answer.location, 'login_challenge'))).json()
      expect(described.purpose).toBe('account')
    }
  })

  test.each(['', '.json', '0', '..%2f..%2fetc', '%00', '0'.repeat(36), `${'-'.repeat(36)}.json`, 'x'.repeat(5000)])(
    'an id that is none (%s) is not found',
    async (text) => {
      const answer = await app.walk.browse({ path: `/account/receipts/${text}` })
      expect([404, 414, 431]).toContain(answer.status)
      expect(answer.body).not.toContain(signature)
    },
  )

  test('the sign-in to the account page is no consent, so it is no receipt to be seen', async () => {
    const walk = new Walk(app.grantor, testWallet(1))
    await signInToAccount(walk)
    const own = (await receiptsOf(app.grantor, walk.wallet)).find(({ clientId }) => clientId === '')
    expect(own?.id).toMatch(/^[0-9a-f-]{36}$/)
    notFound(await view(walk, own?.id))
    notFound(await download(walk, own?.id))
  })

  test('looking writes nothing', async () => {
    const before = allRows(app.grantor.databasePath)
    await view()
    await download()
    expect(allRows(app.grantor.databasePath)).toEqual(before)
  })
})
