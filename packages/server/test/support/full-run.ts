/** Performs everything that a service does, and collects every secret of these requests. */
import { createHash } from 'node:crypto'
import type { App, Tokens } from './app.ts'
import { tokensOf } from './app.ts'
import { TEST_LOGIN_SECRET, TEST_SECRET } from './start.ts'
import { fieldOf, parameterOf, requestOf } from './walk.ts'

export type Secret = { what: string; value: string }

/** Sends a secret through every endpoint, with refusals and failures. Returns each secret once. */
export async function runEverything(app: App): Promise<Secret[]> {
  const { walk, grantor, client } = app
  const secrets = new Map<string, string>()
  const note = (what: string, value: string): string => {
    if (value.length < 16) throw new Error(`${what} is too short to be searched for: ${value}`)
    secrets.set(value, what)
    return value
  }
  const noteTokens = (tokens: Tokens): Tokens => {
    note('access token', tokens.access_token)
    note('refresh token', tokens.refresh_token)
    return tokens
  }
  note('secret that wraps the keys', TEST_SECRET)
  note('secret between the servers', TEST_LOGIN_SECRET)
  const others = [await grantor.createClient(), await grantor.createClient({ authMethod: 'client_secret_post' })]
  for (const { secret } of [client, ...others]) note('client secret', secret)
  const wrong = { ...client, secret: note('wrong secret', 'W'.repeat(43)) }

  // A login, one that is declined, one with a proof by the wrong wallet, and one that is malformed.
  const state = note('state', 'state-'.repeat(8))
  const verifier = note('code verifier', 'verifier-'.repeat(5))
  const pkce = { code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' }
  const challenge = note('login challenge', await walk.challenge(requestOf(client, { prompt: 'login', state, ...pkce })))
  const claim = { login_challenge: challenge, address: walk.wallet.address, chain_id: 1 }
  const { message } = (await walk.loginApi('/login/message', claim)).json()
  const signature = note('signature', walk.wallet.sign(message as string))
  await walk.loginApi('/login/accept', { ...claim, signature: note('wrong signature', walk.wallet.sign('something else')) })
  await walk.loginApi('/login/accept', { ...claim, signature: '0x00' })
  const accepted = (await walk.loginApi('/login/accept', { ...claim, signature })).json().redirect_to as string
  note('login verifier', parameterOf(accepted, 'login_verifier'))
  const complete = new URL(accepted)
  const page = await walk.complete(complete.pathname + complete.search)
  await walk.complete(complete.pathname + complete.search)
  const code = note('code', /[?&]code=([A-Za-z0-9._-]+)/.exec(page.body)?.[1] ?? '')
  const declined = new URL(
    await walk.reject(note('login challenge', await walk.challenge(requestOf(client, { prompt: 'login' })))),
    grantor.authUrl,
  )
  note('login verifier', declined.searchParams.get('login_verifier') ?? '')
  await walk.complete(declined.pathname + declined.search)
  for (const [name, value] of walk.cookies) note(`cookie ${name}`, value)

  // A confirmation.
  const asked = await walk.authorize(requestOf(client, { prompt: 'consent' }))
  note('confirmation', fieldOf(asked, 'confirmation'))
  note('code', /[?&]code=([A-Za-z0-9._-]+)/.exec((await walk.confirm(asked, 'allow')).body)?.[1] ?? '')

  // Every exchange, refresh, introspection and revocation, valid and invalid.
  await walk.exchange(wrong, code)
  await walk.exchange(client, code, { code_verifier: 'short' })
  const first = noteTokens(tokensOf(await walk.exchange(client, code, { code_verifier: verifier })))
  const second = noteTokens(tokensOf(await walk.refresh(client, first.refresh_token)))
  const third = noteTokens(tokensOf(await walk.refresh(client, second.refresh_token)))
  await walk.refresh(wrong, third.refresh_token)
  await walk.refresh(client, third.refresh_token, { scope: 'unknown' })
  await walk.introspect(client, third.access_token)
  await walk.introspect(client, third.refresh_token)
  await walk.revoke(client, third.access_token)
  await walk.refresh(client, first.refresh_token)
  await walk.exchange(client, code, { code_verifier: verifier })
  const spent = note('code', await app.freshCode(pkce))
  await walk.exchange(client, spent, { code_verifier: note('wrong code verifier', 'wrong-verifier-'.repeat(4)) })
  const revoked = noteTokens(await app.freshTokens())
  await walk.revoke(others[0] ?? client, revoked.refresh_token)
  await walk.revoke(client, revoked.refresh_token)
  // Secrets in wrong places: in queries, in unknown paths, in the wrong kind of body.
  await walk.browse({ path: `/oauth/${revoked.refresh_token}?code=${code}&client_secret=${client.secret}` })
  await walk.browse({
    path: `/oauth/token?refresh_token=${revoked.refresh_token}`,
    headers: { authorization: `Bearer ${revoked.access_token}` },
  })
  await walk.browse({
    method: 'POST',
    path: '/oauth/token',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(revoked),
  })
  await walk.browse({
    method: 'POST',
    path: '/login/accept',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ signature }),
  })
  return [...secrets].map(([value, what]) => ({ what, value }))
}

/** The forms in which a secret could be stored or logged: its text, and the bytes that it encodes. */
export function spellingsOf({ value }: Secret): Buffer[] {
  const parts = [value, ...value.split('.').filter((part) => part.length >= 20)]
  const hex = /^0x[0-9a-f]+$/.test(value) ? [Buffer.from(value.slice(2), 'hex'), Buffer.from(value.slice(2))] : []
  const decoded = parts.filter((part) => /^[A-Za-z0-9_-]{22,}$/.test(part)).map((part) => Buffer.from(part, 'base64url'))
  // Only the last 32 bytes of a refresh token are secret. The bytes before are the id of the grant.
  const macs = value.startsWith('grr.') ? decoded.map((bytes) => bytes.subarray(20)) : []
  const asBase64 = [value].flatMap((text) => [
    Buffer.from(text).toString('base64').replace(/=+$/, ''),
    Buffer.from(text).toString('hex'),
  ])
  return [
    ...parts.slice(0, 1).map((part) => Buffer.from(part)),
    ...hex,
    ...decoded,
    ...macs,
    ...asBase64.map((text) => Buffer.from(text)),
  ]
}
