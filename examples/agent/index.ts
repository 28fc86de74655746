/**
 * A program that works while the user is elsewhere: a sign-in with a device code (RFC 8628), and calls to an API that lets the user sign each action.
 *
 *     npx node examples/agent/index.ts ISSUER CLIENT_ID API_URL ITEM LEVEL
 *
 * `api.ts` is the API. The agent has no code of Grantor. After a refusal the agent shows the link and the letters, and repeats the call.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import * as client from 'openid-client'

type Print = (line: string) => void
/** Sends JSON to the API with the access token. */
type Put = (path: string, body: object) => Promise<Response>

/** The agent cannot go on. The message is for the user. */
class Stopped extends Error {}

const ENDED = 'The access of this agent was ended. Start the agent again if you want to allow it again.'

/** What the agent prints for a refusal after which repeating the call has no use: by its `state`. */
const REASONS: Record<string, string> = {
  declined: 'You declined this action. It was not done.',
  expired: 'The action was not signed in time. It was not done.',
  used: 'The action was signed, but its result is not known. Look at the item before you start the agent again.',
  ended: ENDED,
}

/** What a problem document of the API contains (RFC 9457). */
type Problem = { detail?: string; state?: string; approval_uri?: string; user_code?: string }

/** Seconds between two calls about the same action. */
const INTERVAL = 5

/** Shows the code, and waits until the user has signed in. The tokens are bound to a key of this process (DPoP, RFC 9449). */
async function signIn(issuer: string, clientId: string, apiUrl: string, print: Print): Promise<Put> {
  const config = await client.discovery(new URL(issuer), clientId, undefined, client.None(), { execute: rulesFor(issuer) })
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair())
  const dpop_jkt = await DPoP.calculateThumbprint()
  const device = await client.initiateDeviceAuthorization(config, { scope: 'enhancement', resource: apiUrl, dpop_jkt })
  print(`To sign in, open ${device.verification_uri} and enter the code ${device.user_code}`)
  let tokens = await client.pollDeviceAuthorizationGrant(config, device, undefined, { DPoP })

  async function refresh(): Promise<void> {
    try {
      tokens = await client.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP })
    } catch (error) {
      throw error instanceof client.ResponseBodyError && error.error === 'invalid_grant' ? new Stopped(ENDED) : error
    }
  }

  return async function put(path, body) {
    const url = new URL(path, apiUrl)
    const headers = new Headers({ 'content-type': 'application/json' })
    const send = () =>
      client.fetchProtectedResource(config, tokens.access_token, url, 'PUT', JSON.stringify(body), headers, { DPoP })
    try {
      return await send()
    } catch (error) {
      // The access token expired, or its grant ended. Only the authorization server knows which.
      if (!(error instanceof client.WWWAuthenticateChallengeError && error.status === 401)) throw error
      await refresh()
      return send()
    }
  }
}

/** Asks the API for one action until it is done. Each call names the same action, so the user signs once and the API acts once, also after an answer that was lost. */
async function enhance(put: Put, action: { item: string; level: number }, print: Print): Promise<void> {
  const path = `enhancements/${randomUUID()}`
  let shown = false
  while (true) {
    const answer = await put(path, action).catch(answerOfFailure)
    if (answer.ok) return
    const { state, detail = `The API responded with status ${answer.status}.`, ...link } = await problemOf(answer)
    if (state === 'waiting') {
      if (!shown) print(`Sign this action at ${link.approval_uri}\nThe page shows the letters ${link.user_code}`)
      shown = true
    } else if (answer.status === 429 || answer.status === 503) print(detail)
    else throw new Stopped(REASONS[state ?? ''] ?? detail)
    await pause(1000 * Number(answer.headers.get('retry-after') ?? INTERVAL))
  }
}

/** An answer that was lost is like one with which the API asks to try again. `fetch` throws a TypeError for a failure of the network. */
function answerOfFailure(error: unknown): Response {
  if (!(error instanceof TypeError && error.message === 'fetch failed')) throw error
  return Response.json({ detail: 'The API did not answer. Trying again.' }, { status: 503 })
}

async function problemOf(answer: Response): Promise<Problem> {
  const isJson = /^application\/(?:problem\+)?json/.test(answer.headers.get('content-type') ?? '')
  return isJson ? ((await answer.json()) as Problem) : {}
}

/** openid-client refuses plain http unless the program allows it, which is right on this machine only. */
function rulesFor(issuer: string): ((config: client.Configuration) => void)[] {
  const { protocol, hostname } = new URL(issuer)
  const isLocal = protocol === 'http:' && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(hostname)
  // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
  return isLocal ? [client.allowInsecureRequests] : []
}

async function main([issuer, clientId, apiUrl, item, level]: string[]): Promise<number> {
  const print: Print = (line) => void process.stdout.write(`${line}\n`)
  if (!issuer || !clientId || !apiUrl || !item || !level) {
    print('Usage: npx node examples/agent/index.ts ISSUER CLIENT_ID API_URL ITEM LEVEL')
    return 2
  }
  try {
    const put = await signIn(issuer, clientId, apiUrl, print)
    print('Signed in.')
    await enhance(put, { item, level: Number(level) }, print)
    print(`Done: item ${item} has level ${level}.`)
    return 0
  } catch (error) {
    print(`Stopped. ${error instanceof Error ? error.message : 'Unknown error'}`)
    return 1
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2))
