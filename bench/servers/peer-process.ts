/**
 * oidc-provider in its fastest set-up known to us: optional features are off, nothing is logged, and its adapter is a plain Map. This Map is
 * faster than the adapter for development that the package contains, which keeps only a thousand records.
 *
 * Access tokens for one resource are JWTs signed with ES256, as Grantor's are. Access tokens for the other resource are opaque, because
 * introspection of opaque tokens is faster. This process makes the codes and tokens that requests use through the provider's own models, when
 * the bench sends it a message. All measured requests use HTTP.
 */
import { generateKeyPairSync } from 'node:crypto'
import { type Configuration, Provider } from 'oidc-provider'
import { createMapAdapter } from './map-adapter.ts'

const JWT_RESOURCE = 'https://api.example.net/'
const OPAQUE_RESOURCE = 'https://opaque.example.net/'
const SCOPE = 'enhancement'
const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const PORT = Number(process.env.PORT)
const {
  BENCH_CLIENT_ID: clientId = '',
  BENCH_CLIENT_SECRET: clientSecret = '',
  BENCH_REDIRECT_URI: redirectUri = '',
} = process.env

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const { adapter, forget } = createMapAdapter()

const configuration: Configuration = {
  adapter,
  clients: [
    {
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
      id_token_signed_response_alg: 'ES256',
    },
  ],
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256', kid: 'bench' }] },
  pkce: { required: () => false },
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  expiresWithSession: () => false,
  ttl: { AccessToken: 600, AuthorizationCode: 600, RefreshToken: 1_209_600, Grant: 2_592_000, Session: 1_209_600, IdToken: 600 },
  findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  features: {
    devInteractions: { enabled: false },
    introspection: { enabled: true },
    revocation: { enabled: true },
    userinfo: { enabled: false },
    dPoP: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => JWT_RESOURCE,
      useGrantedResource: () => true,
      getResourceServerInfo: (_context, resource) => serverOf(resource),
    },
  },
}

function serverOf(resource: string) {
  const shared = { scope: SCOPE, audience: resource, accessTokenTTL: 600 }
  return resource === JWT_RESOURCE
    ? { ...shared, accessTokenFormat: 'jwt' as const, jwt: { sign: { alg: 'ES256' } } }
    : { ...shared, accessTokenFormat: 'opaque' as const }
}

const provider = new Provider(`http://localhost:${PORT}`, configuration)

async function makeGrant(): Promise<string> {
  const grant = new provider.Grant({ accountId: WALLET, clientId })
  grant.addResourceScope(JWT_RESOURCE, SCOPE)
  grant.addResourceScope(OPAQUE_RESOURCE, SCOPE)
  return grant.save()
}

/** One code and one token of each kind, on a grant of its own, as the endpoints would have stored them. */
const makers: Record<string, () => Promise<string>> = {
  async codes() {
    const code = new provider.AuthorizationCode({ ...(await base()), redirectUri })
    return code.save()
  },
  async refreshTokens() {
    const token = new provider.RefreshToken({ ...(await base()), gty: 'authorization_code', rotations: 0 })
    return token.save()
  },
  async accessTokens() {
    const token = new provider.AccessToken({ ...(await base()), gty: 'authorization_code' })
    token.resourceServer = new provider.ResourceServer(OPAQUE_RESOURCE, serverOf(OPAQUE_RESOURCE))
    return token.save()
  },
  async sessions() {
    const session = new provider.Session()
    session.loginAccount({ accountId: WALLET })
    session.ensureClientContainer(clientId)
    session.grantIdFor(clientId, await makeGrant())
    return session.save(1_209_600)
  },
}

async function base() {
  const client = await provider.Client.find(clientId)
  return { accountId: WALLET, client, grantId: await makeGrant(), scope: SCOPE, resource: JWT_RESOURCE }
}

process.on('message', ({ make, count }: { make: string; count: number }) => {
  void (async () => {
    if (make === 'nothing') forget()
    const made: string[] = []
    for (let left = count; left > 0; left--) made.push((await makers[make]?.()) ?? '')
    process.send?.(made)
  })()
})

provider.listen(PORT, '127.0.0.1', () => void process.send?.('ready'))
