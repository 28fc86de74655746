/**
 * Starts Ory Hydra from a binary, in its fastest set-up known to us: the secret of the client is hashed with one round of PBKDF2, access
 * tokens are opaque, and only errors are logged. The bench is its login and consent app.
 */
import { join } from 'node:path'
import { basic } from '../request.ts'
import type { Client, Target } from '../target.ts'
import { makeBrowser } from './browser.ts'
import { freePort, startProgram, untilEnd, untilReady } from './process.ts'
import { eachAtOnce, supplyFrom } from './supply.ts'

export type HydraStart = { binary: string; databaseUrl: string; cores: string | null; folder: string }

/** the grants of the access tokens */
const CHAINS = 3000
const SCOPE = 'enhancement offline'

export async function startHydra({ binary, databaseUrl, cores, folder }: HydraStart): Promise<Target> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const log = join(folder, 'hydra.log')
  const env = settingsOf({ port, adminPort, databaseUrl, folder })
  await untilEnd({ args: [binary, 'migrate', 'sql', 'up', '--read-from-env', '--yes'], env, cores: null, log })
  const running = startProgram({ args: [binary, 'serve', 'all', '--dev'], env, cores, log })
  const hydra: Hydra = { publicUrl: `http://localhost:${port}`, adminUrl: `http://localhost:${adminPort}` }
  const isReady = async () => {
    const answer = await fetch(`${hydra.adminUrl}/health/ready`).catch(() => null)
    await answer?.arrayBuffer()
    return answer?.ok ?? false
  }
  const readyAfter = [await untilReady(running, log, isReady)]
  const client = await makeClient(hydra)
  const bare: Target = {
    name: 'hydra',
    port,
    introspectionPort: adminPort,
    opaqueTokens: true,
    readyAfter,
    running,
    authorization: basic(client.id, client.secret),
    paths: {
      token: '/oauth2/token',
      introspect: '/admin/oauth2/introspect',
      revoke: '/oauth2/revoke',
      authorize: '/oauth2/auth',
    },
    client,
    redirect: 302,
    supply: null,
    longestBlock: async () => Number.NaN,
    stop: running.stop,
  }
  const codes = (count: number) => eachAtOnce(count, () => makeCode(hydra, client))
  const signIn = async () => Promise.reject(new Error('the bench does not sign in at Hydra'))
  const supply = supplyFrom(bare, { signIn, codes, chains: CHAINS })
  // A refresh ends the previous access token of the grant.
  const accessTokens = (count: number) => supply.accessTokens(Math.min(count, CHAINS))
  return { ...bare, supply: { ...supply, accessTokens } }
}

type Hydra = { publicUrl: string; adminUrl: string }

function settingsOf(of: { port: number; adminPort: number; databaseUrl: string; folder: string }): Record<string, string> {
  const publicUrl = `http://localhost:${of.port}`
  return {
    HOME: of.folder,
    DSN: `${of.databaseUrl}?sslmode=disable&max_conns=20`,
    SECRETS_SYSTEM: 'a-secret-of-the-bench-256-bits-long',
    URLS_SELF_ISSUER: publicUrl,
    URLS_LOGIN: `${publicUrl}/login-app`,
    URLS_CONSENT: `${publicUrl}/consent-app`,
    SERVE_PUBLIC_HOST: '127.0.0.1',
    SERVE_PUBLIC_PORT: String(of.port),
    SERVE_ADMIN_HOST: '127.0.0.1',
    SERVE_ADMIN_PORT: String(of.adminPort),
    OAUTH2_HASHERS_ALGORITHM: 'pbkdf2',
    OAUTH2_HASHERS_PBKDF2_ITERATIONS: '1',
    LOG_LEVEL: 'error',
    SQA_OPT_OUT: 'true',
  }
}

async function ask({ adminUrl }: Hydra, method: 'POST' | 'PUT', path: string, fields: object): Promise<Record<string, string>> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${adminUrl}${path}`, { method, headers, body: JSON.stringify(fields) })
  if (!response.ok) throw new Error(`Hydra: ${path.split('?')[0]} answered ${response.status}`)
  return (await response.json()) as Record<string, string>
}

async function makeClient(hydra: Hydra): Promise<Client> {
  const redirectUri = 'https://app.example.net/callback'
  const secret = 'a-secret-of-the-bench-256-bits-long-000000'
  const { client_id: id = '' } = await ask(hydra, 'POST', '/admin/clients', {
    client_secret: secret,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: SCOPE,
    token_endpoint_auth_method: 'client_secret_basic',
  })
  return { id, secret, redirectUri }
}

/** One person signs in and agrees. */
async function makeCode(hydra: Hydra, { id, redirectUri }: Client): Promise<string> {
  const browser = makeBrowser()
  const request = { response_type: 'code', client_id: id, redirect_uri: redirectUri, scope: SCOPE, state: 'a-state-of-the-bench' }
  const toLogin = await browser.open(`${hydra.publicUrl}/oauth2/auth?${new URLSearchParams(request).toString()}`)
  const login = await accept(hydra, 'login', toLogin.location, { subject: 'a-person' })
  const toConsent = await browser.open(login)
  const consent = await accept(hydra, 'consent', toConsent.location, { grant_scope: SCOPE.split(' ') })
  const back = await browser.open(consent)
  const code = new URL(back.location).searchParams.get('code')
  if (code === null) throw new Error(`Hydra: no code came back, but the status ${back.status}`)
  return code
}

/** Accepts a step in place of the login and consent app. Returns the address at which the browser goes on. */
async function accept(hydra: Hydra, step: 'login' | 'consent', location: string, fields: object): Promise<string> {
  const challenge = new URL(location, hydra.publicUrl).searchParams.get(`${step}_challenge`)
  if (challenge === null) throw new Error(`Hydra did not lead to the ${step}`)
  const query = new URLSearchParams({ [`${step}_challenge`]: challenge }).toString()
  const { redirect_to = '' } = await ask(hydra, 'PUT', `/admin/oauth2/auth/requests/${step}/accept?${query}`, fields)
  return redirect_to
}
