/** Python's Authlib, an independent library, with the recipe of docs/guides/clients.md. TEST_PYTHON names another interpreter than Debian's. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { startGrantor } from '../support/start.ts'
import { Walk } from '../support/walk.ts'
import { recipeFile, register } from './recipe.ts'

const PYTHON = process.env.TEST_PYTHON ?? '/usr/bin/python3'
const isMissing = (): boolean => spawnSync(PYTHON, ['-c', 'import authlib, requests']).status !== 0

/** The app. The script prints the authorization URL, reads the URL of the response, and prints the results of all other steps. */
const APP = `
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("recipe", sys.argv[1])
app = importlib.util.module_from_spec(spec)
spec.loader.exec_module(app)
to, checks = app.begin()
print(to, flush=True)
tokens, sub, wallet = app.finish(sys.stdin.readline().strip(), checks)
refreshed = app.refresh(tokens)
before = app.introspect(refreshed)
app.revoke(refreshed)
ended = app.introspect(refreshed)
def wrong_state():
    to, checks = app.begin()
    try:
        app.finish(f"{app.os.environ['REDIRECT_URI']}?code=x&state=another", checks)
    except Exception as error:
        return type(error).__name__
print(json.dumps({"tokens": tokens, "sub": sub, "wallet": wallet, "refreshed": refreshed, "before": before,
                  "ended": ended, "wrong_state": wrong_state()}))
`

test.runIf(process.env.TEST_CLIENTS)(
  'Authlib signs in, verifies the ID token, reads userinfo, refreshes, introspects and revokes',
  async (context) => {
    if (isMissing()) return context.skip(`${PYTHON} has no Authlib: apt install python3-authlib python3-requests`)
    const grantor = await startGrantor()
    try {
      const client = await register(grantor, 'authlib')
      const app = spawn(PYTHON, ['-W', 'ignore', '-c', APP, recipeFile('python', 'authlib', 'py')], {
        env: {
          PATH: process.env.PATH,
          AUTHLIB_INSECURE_TRANSPORT: '1',
          ISSUER: grantor.authUrl,
          CLIENT_ID: client.client_id,
          CLIENT_SECRET: client.client_secret,
          REDIRECT_URI: 'https://app.example.net/callback',
        },
      })
      let errorOutput = ''
      app.stderr.on('data', (chunk: Buffer) => (errorOutput += chunk.toString()))
      const lines = createInterface(app.stdout)[Symbol.asyncIterator]()
      const nextLine = async (): Promise<string> => {
        const { value, done } = await lines.next()
        if (done) throw new Error(errorOutput)
        return value
      }
      const walk = new Walk(grantor)
      const { to } = await walk.signIn(new URL(await nextLine()).search.slice(1))
      app.stdin.end(`${to}\n`)
      const result = JSON.parse(await nextLine()) as Record<string, Record<string, unknown>>
      await once(app, 'exit')

      const { address } = walk.wallet
      expect(result).toMatchObject({
        sub: address,
        wallet: { sub: address, account_id: `eip155:1:${address}` },
        tokens: { scope: 'openid wallet', token_type: 'Bearer' },
        before: { active: true, sub: address },
        ended: { active: false },
        wrong_state: 'MismatchingStateException',
      })
      expect(result.refreshed?.refresh_token).not.toBe(result.tokens?.refresh_token)
    } finally {
      await grantor.close()
    }
  },
)
