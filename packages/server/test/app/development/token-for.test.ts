/** What a test token accepts from the program at the addresses of the service. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished, test } from 'vitest'
import { requestToken } from '../../../src/app/development/token-for.ts'

/** A program that took the port of the service, and answers the token request with these members. */
async function impostor(tokens: object): Promise<string> {
  const server = createServer((request, response) => {
    const url = `http://${request.headers.host}`
    const [path] = (request.url ?? '').split('?')
    if (path === '/oauth/authorize') response.writeHead(303, { location: `${url}/login?login_challenge=a` }).end()
    else if (path === '/login/development-wallet') response.end(JSON.stringify({ redirect_to: `${url}/login/complete` }))
    else if (path === '/oauth/token') response.end(JSON.stringify(tokens))
    else response.end('<meta http-equiv="refresh" content="0;url=http://127.0.0.1/callback?code=c">')
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const TOKENS = { access_token: 'a.b-c_d.e', token_type: 'Bearer', expires_in: 60, scope: 'notes.read', refresh_token: 'grr.f' }

test.for([
  ['access_token', 'a; touch /tmp/owned'],
  ['access_token', '\u001b[2J'],
  ['access_token', undefined],
  ['refresh_token', '$(touch /tmp/owned)'],
])(
  'A test token whose %s is %j is refused: a shell evaluates what the command prints',
  async ([name = '', value], { expect }) => {
    const url = await impostor({ ...TOKENS, [name]: value })
    const client: Parameters<typeof requestToken>[0]['client'] = {
      name: 'Notes',
      clientId: '6f1c2d9e-3b57-4f0a-9a4e-1c2b3d4e5f60',
      clientSecret: null,
      redirectUris: ['http://127.0.0.1/callback'],
      resources: [],
      authMethod: 'none',
    }
    const token = requestToken({ address: '127.0.0.1', issuer: url, loginUrl: url, wallet: '0x1', client })
    await expect(token).rejects.toThrow('the token response is malformed')
  },
)
