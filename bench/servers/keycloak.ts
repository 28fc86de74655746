/**
 * Starts Keycloak from its unpacked distribution, in its fastest set-up known to us: a realm without mappers and without events, whose
 * passwords are hashed with one round. Access tokens are JWTs signed with ES256. A refresh token can be used once, as Grantor's.
 */
import { join } from 'node:path'
import { sendAll } from '../load/closed-loop.ts'
import type { Answer } from '../load/connection.ts'
import { tokensIn } from '../operations.ts'
import { basic, formPost } from '../request.ts'
import type { Client, Target } from '../target.ts'
import { makeBrowser } from './browser.ts'
import { freePort, startProgram, untilReady } from './process.ts'
import { supplyFrom } from './supply.ts'

export type KeycloakStart = { home: string; databaseUrl: string; cores: string | null; folder: string }

const ADMIN = { username: 'admin', password: 'a-password-of-the-bench' }
const PERSON = { username: 'person', password: 'another-password-of-the-bench' }
const REALM = 'bench'
/** seconds; the first start of a distribution compiles its settings */
const START_AT_MOST = 240

export async function startKeycloak({ home, databaseUrl, cores, folder }: KeycloakStart): Promise<Target> {
  const [port, managementPort] = [await freePort(), await freePort()]
  const url = `http://localhost:${port}`
  const log = join(folder, 'keycloak.log')
  const args = [join(home, 'bin/kc.sh'), ...optionsOf({ url, port, managementPort, databaseUrl })]
  const env = { HOME: folder, KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username, KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password }
  const running = startProgram({ args, env, cores, log })
  const isReady = async () => {
    const answer = await fetch(`${url}/realms/master`).catch(() => null)
    await answer?.arrayBuffer()
    return answer?.ok ?? false
  }
  const readyAfter = [await untilReady(running, log, isReady, START_AT_MOST)]

  const redirectUri = 'https://app.example.net/callback'
  const client: Client = { id: 'bench', secret: 'a-secret-of-the-bench-256-bits-long-000000', redirectUri }
  await makeRealm(url, client)
  const at = `/realms/${REALM}/protocol/openid-connect`

  const bare: Target = {
    name: 'keycloak',
    port,
    readyAfter,
    running,
    authorization: basic(client.id, client.secret),
    paths: { token: `${at}/token`, introspect: `${at}/token/introspect`, revoke: `${at}/revoke`, authorize: `${at}/auth` },
    client,
    redirect: 302,
    supply: null,
    longestBlock: async () => Number.NaN,
    stop: running.stop,
  }
  const signIn = (authorize: string) => signInAt(`${url}${authorize}`, redirectUri)
  const refreshTokens = (count: number) => makeRefreshTokens(bare, count)
  return { ...bare, supply: supplyFrom(bare, { signIn, refreshTokens, chains: 500 }) }
}

function optionsOf(of: { url: string; port: number; managementPort: number; databaseUrl: string }): string[] {
  const { host, pathname, username, password } = new URL(of.databaseUrl)
  return [
    'start',
    '--db=postgres',
    `--db-url=jdbc:postgresql://${host}${pathname}`,
    `--db-username=${username}`,
    `--db-password=${password}`,
    '--db-pool-max-size=20',
    '--http-enabled=true',
    '--http-host=127.0.0.1',
    `--http-port=${of.port}`,
    `--http-management-port=${of.managementPort}`,
    `--hostname=${of.url}`,
    '--cache=local',
    '--log-level=warn',
  ]
}

async function signInAt(authorize: string, redirectUri: string): Promise<string> {
  const browser = makeBrowser()
  const page = await browser.open(`${authorize}&response_type=code&scope=enhancement&state=a-state`)
  const [, action = ''] = /action="([^"]+)"/.exec(page.body) ?? []
  const back = await browser.open(action.replaceAll('&amp;', '&'), { ...PERSON, credentialId: '' })
  if (!back.location.startsWith(redirectUri)) throw new Error(`Keycloak: the sign-in answered ${back.status}`)
  return browser.cookies()
}

/** Each of a session of its own: only the newest refresh token of a session is valid. */
async function makeRefreshTokens(target: Target, count: number): Promise<string[]> {
  const request = formPost(target.paths.token, target.authorization, { grant_type: 'password', scope: 'enhancement', ...PERSON })
  const made: string[] = []
  let left = count
  const work = {
    next: () => (left-- > 0 ? request : undefined),
    accept: (answer: Answer) => void made.push(tokensIn(answer, target).refreshToken),
  }
  // A server that has just started is slow, and a request that waits five seconds for one of its 20 database connections fails.
  await sendAll(target.port, work, 16)
  return made
}

async function makeRealm(url: string, { id, secret, redirectUri }: Client): Promise<void> {
  const body = new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...ADMIN })
  const signedIn = await fetch(`${url}/realms/master/protocol/openid-connect/token`, { method: 'POST', body })
  const { access_token } = (await signedIn.json()) as { access_token: string }
  async function post(path: string, fields: object): Promise<void> {
    const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
    const response = await fetch(`${url}/admin/realms${path}`, { method: 'POST', headers, body: JSON.stringify(fields) })
    if (!response.ok) throw new Error(`Keycloak: ${path} answered ${response.status} ${await response.text()}`)
  }
  await post('', {
    realm: REALM,
    enabled: true,
    sslRequired: 'none',
    defaultSignatureAlgorithm: 'ES256',
    revokeRefreshToken: true,
    refreshTokenMaxReuse: 0,
    accessTokenLifespan: 600,
    accessCodeLifespan: 600,
    passwordPolicy: 'hashAlgorithm(pbkdf2-sha256) and hashIterations(1)',
    clientScopes: [{ name: 'enhancement', protocol: 'openid-connect' }],
    clients: [
      {
        clientId: id,
        secret,
        redirectUris: [redirectUri],
        directAccessGrantsEnabled: true,
        fullScopeAllowed: false,
        defaultClientScopes: [],
        optionalClientScopes: ['enhancement'],
      },
    ],
    users: [
      {
        username: PERSON.username,
        enabled: true,
        email: 'person@example.net',
        emailVerified: true,
        firstName: 'A',
        lastName: 'Person',
        credentials: [{ type: 'password', value: PERSON.password }],
      },
    ],
  })
}
