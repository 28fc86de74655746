/** The page for the code of a device (RFC 8628 §3.3, §5.1, §5.4). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  allowDevice,
  askForDevice,
  authorizedDevice,
  challengeOfDevice,
  createDeviceClient,
  type DeviceAuthorization,
  decide,
  openDevicePage,
  poll,
} from '../../../support/device.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { fieldOf, movingTo, noticeOf, Walk } from '../../../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  grantor = await startGrantor({ trustedProxies: ['127.0.0.1'], limits: { pushes: 1000 } })
  client = await createDeviceClient(grantor)
  walk = new Walk(grantor)
})
afterAll(() => grantor.close())

const from = (network: string) => ({ 'x-forwarded-for': network })

function enter(code: string, network: string) {
  return walk.browse({ path: `/device?user_code=${encodeURIComponent(code)}`, headers: from(network) })
}

/** A code that no device has. */
function wrongCode({ user_code }: DeviceAuthorization): string {
  return user_code.startsWith('B') ? `C${user_code.slice(1)}` : `B${user_code.slice(1)}`
}

describe('The page for the code of a device', () => {
  test('Without a code the page asks for it, with a code it shows app, scopes, code and warning (RFC 8628 §3.3, §5.4)', async () => {
    expect((await walk.browse({ path: '/device' })).body).toContain('Enter the code of your device')
    const device = await authorizedDevice(walk, client, { scope: 'enhancement profile' })
    const page = await openDevicePage(walk, device.user_code)
    expect(page.status).toBe(200)
    for (const part of [
      'Acme CLI',
      'Use the enhancement features for you',
      'See your profile',
      device.user_code,
      'Somebody sent you',
    ])
      expect(page.body).toContain(part)
  })

  test('A code may be typed in small letters, with spaces or without the dash (RFC 8628 §6.1)', async () => {
    const { user_code } = await authorizedDevice(walk, client)
    for (const typed of [user_code.toLowerCase(), user_code.replace('-', ''), ` ${user_code.split('').join(' ')} `]) {
      expect(fieldOf(await openDevicePage(walk, typed), 'request')).not.toBe('')
    }
  })

  test('The page shows the first part of the address and the name of the program of the device, and no more (RFC 8628 §5.4)', async () => {
    const asked = await askForDevice(walk, client, {}, from('198.51.100.23'))
    const { user_code } = asked.json() as DeviceAuthorization
    const page = await enter(user_code, '203.0.113.9')
    expect(page.body).toContain('another network than yours, which begins with <bdi>198.51.100</bdi>')
    expect(page.body).toContain('acme-cli')
    expect(page.body).not.toContain('198.51.100.23')
    expect(page.body).not.toContain('acme-cli/2.1')
  })

  test('The page names no network if the device is in the same one, because an attacker can be in it too (RFC 8628 §5.4)', async () => {
    const asked = await askForDevice(walk, client, {}, from('198.51.100.23'))
    const { body } = await enter((asked.json() as DeviceAuthorization).user_code, '198.51.100.77')
    expect(body).toContain('acme-cli')
    expect(body).not.toContain('Asked from')
    expect(body).not.toContain('198.51.100')
  })

  test.each([
    ['Mozilla/5.0 (X11; Linux)', ''],
    ['<script>alert(1)</script>', ''],
    ['node', 'node'],
    ['Python-urllib/3.12', 'Python-urllib'],
    [`${'x'.repeat(41)}/1`, ''],
  ])('The program with the User-Agent %j is shown as %j', async (agent, program) => {
    const asked = await askForDevice(walk, client, {}, { 'user-agent': agent })
    const { body } = await openDevicePage(walk, (asked.json() as DeviceAuthorization).user_code)
    expect(/<dt>Program<\/dt><dd>(?:<bdi>)?([^<]*)/.exec(body)?.[1] ?? '').toBe(program)
  })

  test('A login for a device begins only with the form of the page, sent from the page itself (RFC 8628 §5.4)', async () => {
    const { user_code } = await authorizedDevice(walk, client)
    const page = await openDevicePage(walk, user_code)
    const foreign = await walk.postForm(
      '/device',
      { request: fieldOf(page, 'request'), decision: 'allow' },
      { origin: 'https://evil.example' },
    )
    expect([foreign.status, noticeOf(foreign)]).toEqual([403, 'foreign_origin'])
    expect(movingTo(await decide(walk, page, 'allow'))).toMatch(new RegExp(`^${grantor.loginUrl}/login\\?login_challenge=`))
  })

  test('The button that stops the request denies it for the device, and the code no longer works', async () => {
    const device = await authorizedDevice(walk, client)
    const page = await openDevicePage(walk, device.user_code)
    expect(noticeOf(await decide(walk, page, 'deny'))).toBe('device_denied')
    expectRefusal(await poll(walk, client, device), 'access_denied')
    for (const answer of [await openDevicePage(walk, device.user_code), await decide(walk, page, 'allow')])
      expect([answer.status, noticeOf(answer)]).toEqual([409, 'device_answered'])
  })

  test('The first answer stays: a login that was begun before another answer does not change it', async () => {
    const device = await authorizedDevice(walk, client)
    const path = await walk.prove(await challengeOfDevice(walk, device))
    const page = await openDevicePage(walk, device.user_code)
    await decide(walk, page, 'deny')
    const late = await walk.complete(path)
    expect([late.status, noticeOf(late)]).toEqual([409, 'device_answered'])
    expectRefusal(await poll(walk, client, device), 'access_denied')
  })

  test('The login ends with the code of the device', async () => {
    const device = await authorizedDevice(walk, client)
    grantor.clock.advance(895)
    const challenge = await challengeOfDevice(walk, device)
    expect((await walk.describe(challenge)).json()).toMatchObject({
      purpose: 'device',
      user_code: device.user_code,
      client_name: 'Acme CLI',
      client_host: '',
      expires_at: grantor.clock.now() + 5,
      may_choose_scopes: true,
    })
    const path = await walk.prove(challenge)
    const page = await openDevicePage(walk, device.user_code)
    grantor.clock.advance(5)
    expect(noticeOf(await walk.complete(path))).toBe('expired')
    expect((await walk.describe(challenge)).status).toBe(410)
    const late = await decide(walk, page, 'allow')
    expect([late.status, noticeOf(late)]).toEqual([410, 'device_expired'])
    expect((await openDevicePage(walk, device.user_code)).status).toBe(400)
  })

  test('A login for a device continues on a phone by way of the page with the code, and is then finished on both (RFC 8628 §5.4)', async () => {
    const device = await authorizedDevice(walk, client)
    const challenge = await challengeOfDevice(walk, device)
    const proof = await walk.proof(challenge)
    expect((await walk.describe(challenge)).json()).toMatchObject({ resume_url: device.verification_uri_complete })
    expect((await walk.browse({ path: `/login/resume?login_challenge=${challenge}` })).status).toBe(400)
    expect(noticeOf(await allowDevice(new Walk(grantor), device))).toBe('device_allowed')
    expect((await walk.describe(challenge)).json()).toMatchObject({ error: 'already_used' })
    expect((await walk.loginApi('/login/accept', proof)).json()).toMatchObject({ error: 'already_used' })
    expect((await poll(walk, client, device)).status).toBe(200)
  })

  test('A consent for a device covers no authorization request of the same client', async () => {
    const both = await createDeviceClient(grantor, {
      redirectUris: ['http://127.0.0.1/callback'],
      grantTypes: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
    })
    await allowDevice(walk, await authorizedDevice(walk, both))
    const query = {
      client_id: both.id,
      redirect_uri: 'http://127.0.0.1/callback',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    }
    expect((await walk.authorize(query)).location).toContain('/login?login_challenge=')
  })

  test('A login server that vouches for a wallet gets no access for a device', async () => {
    const vouching = await startGrantor({ settings: { loginMayVouch: true } })
    const own = await createDeviceClient(vouching, { type: 'confidential', consent: 'session' })
    const person = new Walk(vouching)
    const challenge = await challengeOfDevice(person, await authorizedDevice(person, own))
    const claim = { login_challenge: challenge, address: person.wallet.address, chain_id: 1 }
    expect((await person.loginApi('/login/accept', claim)).json()).toMatchObject({ error: 'consent_needs_signature' })
    await vouching.close()
  })

  test('After the client was disabled, its codes lead no further', async () => {
    const gone = await createDeviceClient(grantor)
    const device = await authorizedDevice(walk, gone)
    const page = await openDevicePage(walk, device.user_code)
    await grantor.store.clients.changeClient(gone.id, (each) => ({ ...each, disabledAt: grantor.clock.now() }))
    await grantor.noticeChanges()
    for (const answer of [await openDevicePage(walk, device.user_code), await decide(walk, page, 'allow')])
      expect([answer.status, noticeOf(answer)]).toEqual([403, 'unknown_client'])
  })
})

describe('Guesses of user codes (RFC 8628 §5.1)', () => {
  test('A wrong code stays in the field, escaped and up to the length of the field, so that the user corrects it', async () => {
    for (const [typed, shown] of [
      ['WDJB-MJ', 'WDJB-MJ'],
      ['"><b>', '&quot;&gt;&lt;b&gt;'],
      ['x'.repeat(1000), 'x'.repeat(40)],
    ] as const) {
      const answer = await openDevicePage(new Walk(grantor), typed)
      expect([answer.status, answer.body]).toEqual([400, expect.stringContaining(` value="${shown}" aria-invalid="true"`)])
    }
  })

  test('After five wrong codes in a minute no further code of the network is looked up, not even a right one', async () => {
    const device = await authorizedDevice(walk, client)
    const wrong = wrongCode(device)
    for (let attempt = 0; attempt < 5; attempt++) expect((await enter(wrong, '192.0.2.1')).status).toBe(400)
    for (const code of [wrong, device.user_code]) {
      const answer = await enter(code, '192.0.2.1')
      expect([answer.status, noticeOf(answer)]).toEqual([429, 'too_many_failures'])
      expect(answer.headers['retry-after']).toBe('60')
      expect(answer.body).toContain(`href="/device?user_code=${code}"`)
    }
    expect((await enter(device.user_code, '192.0.2.2')).status).toBe(200)
    grantor.clock.advance(60)
    expect((await enter(device.user_code, '192.0.2.1')).status).toBe(200)
  })

  test('Of 50 wrong codes that arrive at once from one network, five are looked up', async () => {
    const wrong = wrongCode(await authorizedDevice(walk, client))
    const answers = await Promise.all(Array.from({ length: 50 }, () => enter(wrong, '192.0.2.3')))
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(45)
  })

  test('Right codes and entries that cannot be codes do not count', async () => {
    const { user_code } = await authorizedDevice(walk, client)
    for (let attempt = 0; attempt < 8; attempt++) {
      expect((await enter(user_code, '192.0.2.4')).status).toBe(200)
      expect((await enter('AEIOU-123', '192.0.2.4')).status).toBe(400)
    }
  })

  test('Opening the page, wrong codes and damaged forms write nothing', async () => {
    const device = await authorizedDevice(walk, client)
    const before = await grantor.rows()
    await enter(device.user_code, '192.0.2.5')
    await enter(wrongCode(device), '192.0.2.5')
    const broken = await walk.postForm('/device', { request: 'grq.0000000000.AAAA', decision: 'deny' })
    expect([broken.status, noticeOf(broken)]).toEqual([400, 'broken_link'])
    await challengeOfDevice(walk, device)
    expect(await grantor.rows()).toEqual(before)
  })

  test('Neither the user code nor the device code is in the database or in a log', async () => {
    const device = await authorizedDevice(walk, client)
    await allowDevice(walk, device)
    await poll(walk, client, device)
    const rows = JSON.stringify(await grantor.rows())
    const logged = grantor.logLines.join('\n') + JSON.stringify(grantor.events)
    for (const secret of [device.user_code, device.user_code.replace('-', ''), device.device_code])
      for (const text of [rows, logged]) expect(text).not.toContain(secret)
  })
})
