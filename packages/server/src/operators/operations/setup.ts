/**
 * What a builder needs to connect an app: the values of one client, and the code for common libraries. Each text is a part of a block in
 * docs/guides/clients.md, which tests run; a test compares both.
 */
import type { Client } from '../../domain/model/records.ts'

export type Snippet = { library: string; language: string; code: string }

/** The values of a client, under the names that the code reads from the environment. */
export type Setup = { environment: Readonly<Record<string, string>>; note: string | null; snippets: Snippet[] }

/** The scopes that every snippet requests. */
const REQUESTED = ['openid', 'wallet']

type Recipe = Snippet & {
  /** of the block in docs/guides/clients.md */
  mark: string
  /** `secret`: an app on a server with a secret. `public`: an app in a browser. `keys`: private_key_jwt. */
  for: 'secret' | 'public' | 'keys'
}

const OPENID_CLIENT = `import * as client from 'openid-client'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI } = process.env
const inDevelopment = ISSUER.startsWith('http://localhost') ? { execute: [client.allowInsecureRequests] } : {}
const config = await client.discovery(new URL(ISSUER), CLIENT_ID, {}, client.ClientSecretBasic(CLIENT_SECRET), inDevelopment)

/** Redirect the user to \`to\`. Store \`checks\` in the user's session for \`finish\`. */
export async function begin() {
  const [codeVerifier, state, nonce] = [client.randomPKCECodeVerifier(), client.randomState(), client.randomNonce()]
  const to = client.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT_URI,
    scope: 'openid wallet',
    state,
    nonce,
    code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  })
  return { to, checks: { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier, idTokenExpected: true } }
}

/** \`cameBack\` is the complete URL of the request to the redirect URI. */
export async function finish(cameBack, checks) {
  const tokens = await client.authorizationCodeGrant(config, new URL(cameBack), checks)
  const { sub } = tokens.claims()
  return { tokens, sub, wallet: await client.fetchUserInfo(config, tokens.access_token, sub) }
}
`

const AUTH_JS = `const { ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env

export const grantor = {
  id: 'grantor',
  name: 'Wallet',
  type: 'oidc',
  issuer: ISSUER,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  checks: ['pkce', 'state', 'nonce'],
  authorization: { params: { scope: 'openid wallet' } },
  profile: ({ sub }) => ({ id: sub, name: sub }),
}
`

const SPRING = `spring.security.oauth2.client.provider.grantor.issuer-uri=\${ISSUER}
spring.security.oauth2.client.registration.grantor.client-id=\${CLIENT_ID}
spring.security.oauth2.client.registration.grantor.client-secret=\${CLIENT_SECRET}
spring.security.oauth2.client.registration.grantor.scope=openid,wallet
`

const AUTHLIB = `import os

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import jwt
from authlib.oidc.core import CodeIDToken

ISSUER, CLIENT_ID, CLIENT_SECRET = os.environ["ISSUER"], os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"]
server = requests.get(f"{ISSUER}/.well-known/openid-configuration", timeout=10).json()


def oauth(**more):
    redirect_uri = os.environ["REDIRECT_URI"]
    settings = {"scope": "openid wallet", "redirect_uri": redirect_uri, "code_challenge_method": "S256"}
    return OAuth2Session(CLIENT_ID, CLIENT_SECRET, token_endpoint=server["token_endpoint"], **settings, **more)


def begin():
    """Redirect the user to the returned URL. Store the checks in the user's session for \`finish\`."""
    checks = {"state": generate_token(32), "nonce": generate_token(32), "code_verifier": generate_token(64)}
    to, _ = oauth().create_authorization_url(server["authorization_endpoint"], **checks)
    return to, checks
`

const OIDC_CLIENT_TS = `const manager = new UserManager({
  authority: issuer,
  client_id: clientId,
  redirect_uri: \`\${location.origin}/\`,
  silent_redirect_uri: \`\${location.origin}/silent.html\`, // this page calls manager.signinSilentCallback()
  post_logout_redirect_uri: \`\${location.origin}/\`,
  scope: 'openid wallet',
  automaticSilentRenew: true,
  revokeTokenTypes: ['refresh_token'], // this also ends the access tokens
  userStore: new WebStorageStateStore({ store: sessionStorage }),
  dpop: { bind_authorization_code: true, store: new IndexedDbDPoPStore() },
})
`

export const recipes: readonly Recipe[] = [
  { library: 'openid-client', language: 'js', mark: 'openid-client', for: 'secret', code: OPENID_CLIENT },
  { library: 'Auth.js', language: 'js', mark: 'auth-js', for: 'secret', code: AUTH_JS },
  { library: 'Spring Security', language: 'properties', mark: 'spring-login', for: 'secret', code: SPRING },
  { library: 'Authlib', language: 'python', mark: 'authlib', for: 'secret', code: AUTHLIB },
  { library: 'oidc-client-ts', language: 'js', mark: 'oidc-client-ts', for: 'public', code: OIDC_CLIENT_TS },
]

/** The place of the secret, which is stored nowhere. */
const SECRET = 'the secret of the client'

export function setupOf(issuer: string, { id, type, redirectUris, authMethod, scopes }: Client): Setup {
  const hasSecret = authMethod.startsWith('client_secret_')
  const [redirectUri] = redirectUris
  const wanted = hasSecret ? 'secret' : type === 'public' ? 'public' : 'keys'
  const snippets = recipes.filter((recipe) => redirectUri !== undefined && recipe.for === wanted)
  const missing = REQUESTED.filter((scope) => !scopes.includes(scope))
  return {
    environment: {
      ISSUER: issuer,
      CLIENT_ID: id,
      ...(hasSecret && { CLIENT_SECRET: SECRET }),
      ...(redirectUri !== undefined && { REDIRECT_URI: redirectUri }),
    },
    note: snippets.length > 0 && missing.length > 0 ? setupNote(missing) : null,
    snippets: snippets.map(({ library, language, code }) => ({
      library,
      language,
      code: wanted === 'public' ? withValues(code, issuer, id) : code,
    })),
  }
}

function setupNote(missing: readonly string[]): string {
  const [requested, lacking] = [REQUESTED, missing].map((scopes) => scopes.join(' and '))
  return `The code requests the scopes ${requested}. This client lacks ${lacking}. Register what is missing, or change the code.`
}

/** An app in a browser reads no environment. */
function withValues(code: string, issuer: string, clientId: string): string {
  return `import { IndexedDbDPoPStore, UserManager, WebStorageStateStore } from 'oidc-client-ts'

const issuer = '${issuer}'
const clientId = '${clientId}'
${code}`
}

/** For an environment file or a shell. */
export function environmentText({ environment }: Setup): string {
  return Object.entries(environment)
    .map(([name, value]) => `${name}=${/^[\w.:/-]+$/.test(value) ? value : JSON.stringify(value)}`)
    .join('\n')
}
