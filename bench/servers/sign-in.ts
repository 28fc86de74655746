/** Signs in one person over HTTP with the signature of a wallet. The bench is the login server (docs/guides/own-login-server.md). */
import { basic } from '../request.ts'
import { makeBrowser } from './browser.ts'
import { makeWallet } from './wallet.ts'

/** `cookie`: the Cookie header of the browser. `to`: the redirect URI with the code. */
export type SignedIn = { cookie: string; to: string }

export function signIn(authUrl: string, loginSecret: string, authorize: string): Promise<SignedIn> {
  async function ask(path: string, fields: Record<string, unknown>): Promise<Record<string, string>> {
    const headers = { authorization: basic('login-server', encodeURIComponent(loginSecret)), 'content-type': 'application/json' }
    const response = await fetch(`${authUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(fields) })
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}`)
    return (await response.json()) as Record<string, string>
  }
  return signInWith(authUrl, authorize, async (challenge) => {
    const wallet = makeWallet()
    const fields = { login_challenge: challenge, address: wallet.address, chain_id: 1 }
    const { message = '' } = await ask('/login/message', fields)
    const { redirect_to = '' } = await ask('/login/accept', { ...fields, signature: wallet.sign(message) })
    return redirect_to
  })
}

/** The same with another proof: `prove` completes a login challenge and returns the URL that the browser opens next. */
export async function signInWith(
  authUrl: string,
  authorize: string,
  prove: (challenge: string) => Promise<string>,
): Promise<SignedIn> {
  const browser = makeBrowser()
  const toLogin = await browser.open(`${authUrl}${authorize}`)
  const [, challenge] = /[?&]login_challenge=([^&]+)/.exec(toLogin.location) ?? []
  if (challenge === undefined) throw new Error(`authorize answered ${toLogin.status} and did not lead to the login`)
  const complete = await browser.open(await prove(challenge))
  if (complete.status !== 200) throw new Error(`/login/complete answered ${complete.status}`)
  const [, to = ''] = /content="0;url=([^"]*)"/.exec(complete.body) ?? []
  return { cookie: browser.cookies(), to: to.replaceAll('&amp;', '&') }
}
