/**
 * A command-line program that signs a wallet in on another device (RFC 8628) and calls an API.
 *
 *     node packages/server/demo/cli-device/index.ts ISSUER CLIENT_ID API_URL
 *
 * The tokens are bound to a key that only this process has (DPoP, RFC 9449), and the wallet signs the name of that key.
 */
import { fileURLToPath } from 'node:url'
import * as client from 'openid-client'
import { encodeQR } from 'qr'

export type DeviceSignIn = {
  issuer: string
  clientId: string
  scope: string
  /** Prints one line. */
  print: (line: string) => void
}

export type SignedIn = {
  scope: string
  /** Calls an API with the access token and a proof of the key. */
  call(url: string): Promise<Response>
}

/** Shows the code, waits for the user, and returns when the wallet has signed. Throws if the user declines or the code expires. */
export async function signInOnDevice({ issuer, clientId, scope, print }: DeviceSignIn): Promise<SignedIn> {
  // 1. The endpoints come from the issuer's metadata (RFC 8414). A device that cannot keep a secret has none.
  const config = await client.discovery(new URL(issuer), clientId, undefined, client.None(), { execute: rulesFor(issuer) })

  // 2. Request a code (RFC 8628 §3.1). `dpop_jkt` names the key before the wallet signs.
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair())
  const dpop_jkt = await DPoP.calculateThumbprint()
  const device = await client.initiateDeviceAuthorization(config, { scope, dpop_jkt })

  // 3. Show where the user continues (§3.3). The user compares the code, also if the QR code contains it (§3.3.1).
  const { verification_uri: uri, verification_uri_complete: complete = uri } = device
  for (const line of instructions({ uri, complete, code: device.user_code, minutes: device.expires_in / 60 })) print(line)

  // 4. Poll until the user has answered (§3.4, §3.5). The library keeps the interval, and slows down if it must.
  const tokens = await client.pollDeviceAuthorizationGrant(config, device, undefined, { DPoP })
  return {
    scope: tokens.scope ?? scope,
    call: (url) => client.fetchProtectedResource(config, tokens.access_token, new URL(url), 'GET', null, undefined, { DPoP }),
  }
}

/** Plain http is for this machine only: openid-client refuses it unless it is allowed. */
function rulesFor(issuer: string): ((config: client.Configuration) => void)[] {
  const { protocol, hostname } = new URL(issuer)
  const isLocal = protocol === 'http:' && /^(?:localhost|.+\.localhost|127\.0\.0\.1|\[::1\])$/.test(hostname)
  // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed
  return isLocal ? [client.allowInsecureRequests] : []
}

type Instructions = { uri: string; complete: string; code: string; minutes: number }

function instructions({ uri, complete, code, minutes }: Instructions): string[] {
  return [
    `To sign in, open ${uri} and enter the code`,
    '',
    `    ${code}`,
    '',
    'or scan this picture with your phone, and compare the code.',
    '',
    ...qrCode(complete),
    '',
    `Waiting for your wallet, for ${minutes} minutes …`,
  ]
}

/** Light on dark in every terminal: many scanners do not read the inverse. */
function qrCode(text: string): string[] {
  const rows = encodeQR(text, 'ascii', { ecc: 'low', border: 2 }).trimEnd().split('\n')
  return rows.map((row) => `\u001b[97;40m${row}\u001b[0m`)
}

async function main([issuer, clientId, apiUrl]: string[]): Promise<number> {
  const print = (line: string): void => void process.stdout.write(`${line}\n`)
  if (!issuer || !clientId || !apiUrl) {
    print('Usage: node packages/server/demo/cli-device/index.ts ISSUER CLIENT_ID API_URL')
    return 2
  }
  try {
    const signedIn = await signInOnDevice({ issuer, clientId, scope: 'enhancement', print })
    print(`Signed in, with the scope ${signedIn.scope}.`)
    const answer = await signedIn.call(apiUrl)
    print(`${apiUrl} answered ${answer.status}: ${await answer.text()}`)
    return answer.ok ? 0 : 1
  } catch (error) {
    // `access_denied`: the user declined. `expired_token`: the user did not answer in time.
    const { error: code, message } = error as { error?: string; message: string }
    print(`Not signed in: ${code ?? message}`)
    return 1
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2))
