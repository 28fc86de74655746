/** What an unmodified client of the official MCP SDK, 1.x or 2.x, keeps of its user, who signs in a browser. */
import type * as modern from '@modelcontextprotocol/client'
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import type { Grantor, TestClient } from './start.ts'
import { Walk } from './walk.ts'
import { type TestWallet, testWallet } from './wallet.ts'

/** What an SDK client keeps, with a person who signs in the browser; `asked` are the authorization requests. */
export function userOf(
  grantor: Grantor,
  client: TestClient,
  { redirectUri, wallet = testWallet(0) }: { redirectUri: string; wallet?: TestWallet },
) {
  const walk = new Walk(grantor, wallet)
  const asked: URL[] = []
  let tokens: OAuthTokens | undefined
  let verifier = ''
  const provider = {
    redirectUrl: redirectUri,
    clientMetadata: { client_name: 'Agent', redirect_uris: [redirectUri] },
    state: () => 'af0ifjsl',
    clientInformation: () => ({ client_id: client.id }),
    tokens: () => tokens,
    saveTokens: (saved: OAuthTokens) => void (tokens = saved),
    redirectToAuthorization: (url: URL) => void asked.push(url),
    saveCodeVerifier: (text: string) => void (verifier = text),
    codeVerifier: () => verifier,
  } satisfies OAuthClientProvider
  /** The person signs what the newest request asks for. Returns the redirect URI with the code. */
  const sign = async (): Promise<URL> => new URL((await walk.signIn(asked.at(-1)?.search.slice(1) ?? '')).to)
  /** What 2.x keeps too, so that it can refuse a code of another authorization server. */
  let discovered: modern.OAuthDiscoveryState | undefined
  const modernProvider = {
    ...provider,
    saveDiscoveryState: (state: modern.OAuthDiscoveryState) => void (discovered = state),
    discoveryState: () => discovered,
  } satisfies modern.OAuthClientProvider
  return { provider, modernProvider, asked, sign, tokens: () => tokens }
}
