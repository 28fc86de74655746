/** Scenes in which callers send requests of one kind. */
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { drawing } from '../drawing.ts'
import { authorizePath } from '../operations.ts'
import { basic, formPost, networkOf, postFrom, visit } from '../request.ts'
import { DEVICE_GRANT, startDevices } from '../servers/devices.ts'
import { registerApi, registerClient } from '../servers/register.ts'
import type { Target } from '../target.ts'
import { type Beside, type Scene, storm } from './scene.ts'

/** Requests a second. */
const RATE = 1000
const DRAWS = 300
const ONE_NETWORK = '192.0.2.1'
const REDIRECT_URI = 'https://app.example.net/callback'
/** Each is polled every five seconds, as often as the service allows. */
const DEVICES = 5 * RATE

let sent = 0
const anyNetwork = () => networkOf(sent++)

export const requestScenes: Scene[] = [
  {
    name: '1,000 unknown client ids a second, one network',
    server: 'production',
    prepare: async (target) =>
      storm(
        target,
        unknownId(target, () => ONE_NETWORK),
        RATE,
      ),
  },
  {
    name: '1,000 unknown client ids a second, many networks',
    server: 'production',
    prepare: async (target) => storm(target, unknownId(target, anyNetwork), RATE),
  },
  {
    name: '1,000 wrong secrets a second, many networks',
    server: 'production',
    async prepare(target) {
      const wrong = () => basic(target.client.id, randomBytes(32).toString('base64url'))
      const refresh = { grant_type: 'refresh_token', refresh_token: 'x'.repeat(130) }
      return storm(target, () => postFrom(anyNetwork(), target.paths.token, refresh, wrong()), RATE)
    },
  },
  {
    name: '1,000 forged access tokens a second',
    server: 'production',
    prepare: forgedTokens,
  },
  {
    name: '1,000 pushed requests a second of a public client, many networks',
    server: 'production',
    async prepare(target) {
      const { id } = await registerClient(target, '--name', 'Public', '--public', '--redirect-uri', REDIRECT_URI)
      // Each network sends as many as its limit allows.
      return storm(target, () => postFrom(networkOf(sent++ % RATE), '/oauth/par', pushed(id)), RATE)
    },
  },
  {
    name: '1,000 pushed requests a second of one client',
    server: 'production',
    async prepare(target) {
      const { id, authorization } = await registerClient(target, '--name', 'Pushing', '--redirect-uri', REDIRECT_URI)
      return storm(target, () => formPost('/oauth/par', authorization, pushed(id)), RATE)
    },
  },
  {
    name: '1,000 polls of devices a second',
    server: 'production',
    prepare: devicePolls,
  },
  {
    name: '300 draws a second from one limit',
    server: 'production',
    prepare: (target) => draws(target, 1),
  },
  {
    name: '300 draws a second from 300 limits',
    server: 'production',
    prepare: (target) => draws(target, 300),
  },
  {
    name: '1,000 repeated revocations a second',
    server: 'production',
    async prepare(target) {
      const [token = ''] = (await target.supply?.refreshTokens(1)) ?? []
      const again = formPost(target.paths.revoke, target.authorization, { token, token_type_hint: 'refresh_token' })
      return storm(target, () => again, RATE)
    },
  },
]

/** Half of them at the authorization endpoint, and half at the token endpoint. */
function unknownId(target: Target, network: () => string): () => string {
  const code = { grant_type: 'authorization_code', code: 'x', redirect_uri: REDIRECT_URI }
  let count = 0
  return () =>
    count++ % 2 === 0
      ? visit(authorizePath(target, { clientId: randomUUID(), redirectUri: REDIRECT_URI }), network())
      : postFrom(network(), target.paths.token, { ...code, client_id: randomUUID() })
}

/** As an API sends them that a caller floods with forged tokens. Only the signature is wrong. */
async function forgedTokens(target: Target): Promise<Beside> {
  const { authorization } = await registerApi(target)
  const [token = ''] = (await target.supply?.accessTokens(1)) ?? []
  const signed = token.slice(0, token.lastIndexOf('.'))
  const forged = () => `${signed}.${randomBytes(64).toString('base64url')}`
  return storm(target, () => formPost(target.paths.introspect, authorization, { token: forged() }), RATE)
}

function pushed(clientId: string): Record<string, string> {
  return {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    state: 'a-state',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  }
}

async function devicePolls(target: Target): Promise<Beside> {
  const grants = ['--grant-type', DEVICE_GRANT, '--grant-type', 'refresh_token']
  const { id } = await registerClient(target, '--name', 'Device', '--native', ...grants)
  const polls = await startDevices(target, id, DEVICES)
  let next = 0
  return {
    ...storm(target, () => polls[next++ % polls.length] ?? '', RATE),
    // A device is not polled again within five seconds.
    settle: () => pause(3000),
  }
}

async function draws(target: Target, limits: number): Promise<Beside> {
  const work = await drawing(target, limits)
  return storm(target, () => work.next() ?? '', DRAWS)
}
