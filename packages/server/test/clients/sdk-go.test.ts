/** The module for Go in sdks/go: its own tests, and the programs of its README and of docs/guides/resource-languages.md with a running service. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startTestGrantor } from '@grantor/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { API, sign, startApprovalApp } from '../support/approvals.ts'
import { freePorts } from '../support/free-ports.ts'
import { startLimitApp, WEEKLY } from '../support/limits.ts'
import { blockWith } from '../support/page-blocks.ts'
import { basic } from '../support/walk.ts'
import { callRoute, drawContract } from './draw-contract.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const MODULE = join(ROOT, 'sdks/go')
const GUIDE = 'guides/resource-languages.md'
const README = '../sdks/go/README.md'
const NOTES = 'https://api.example.com/notes'
/** The first build on a machine compiles the standard library. */
const BUILD = { timeout: 300_000 }

const run = promisify(execFile)
const WHY_NOT = spawnSync('go', ['version']).status === 0 ? null : 'Go is not installed'

/** Builds a program of a page with the commands of the guide, and runs it on a free port instead of 8000. */
async function runProgram(source: string, env: Record<string, string>): Promise<{ origin: string; close: () => Promise<void> }> {
  const [port = 0] = await freePorts(1)
  const cwd = mkdtempSync(join(tmpdir(), 'grantor-go-'))
  writeFileSync(join(cwd, 'main.go'), source.replace('127.0.0.1:8000', `127.0.0.1:${port}`))
  expect((await run('gofmt', ['-l', '.'], { cwd })).stdout).toBe('')
  await run('go', ['mod', 'init', 'example.com/api'], { cwd })
  // The last command of the page starts the program.
  const commands = blockWith(GUIDE, 'go mod edit').replace('../grantor', ROOT).replace('&& ./api', '')
  await run('bash', ['-ec', commands], { cwd })
  const program = spawn(join(cwd, 'api'), { env: { ...process.env, ...env }, stdio: 'inherit' })
  async function close(): Promise<void> {
    if (program.exitCode !== null) return
    const exit = once(program, 'exit')
    program.kill()
    await exit
  }
  const origin = `http://127.0.0.1:${port}`
  try {
    await vi.waitFor(() => fetch(origin), { timeout: 20_000 })
  } catch (error) {
    await close()
    throw error
  }
  return { origin, close }
}

/** The same, until the end of the test. */
async function startProgram(source: string, env: Record<string, string>): Promise<string> {
  const { origin, close } = await runProgram(source, env)
  onTestFinished(close)
  return origin
}

async function call(url: string, method: string, token?: string) {
  const answer = await fetch(url, { method, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })
  return {
    status: answer.status,
    challenge: answer.headers.get('www-authenticate'),
    json: JSON.parse(await answer.text()) as unknown,
  }
}

test('The module for Go passes gofmt, go vet, its tests and the vectors of all packages', BUILD, async ({ skip }) => {
  if (WHY_NOT) return skip(WHY_NOT)
  expect((await run('gofmt', ['-l', '.'], { cwd: MODULE })).stdout).toBe('')
  await run('go', ['vet', './...'], { cwd: MODULE })
  expect((await run('go', ['test', '-count=1', './...'], { cwd: MODULE })).stdout).toMatch(/^ok/)
})

test('The API in Go of the guide accepts and refuses tokens as described in the guide', BUILD, async ({ skip }) => {
  if (WHY_NOT) return skip(WHY_NOT)
  const scopes = ['notes.read', 'notes.write']
  const grantor = await startTestGrantor({
    clients: [
      { name: 'My app', redirect_uris: ['http://localhost:3000/callback'], scopes, resources: [NOTES] },
      { name: 'My API', resource_server: NOTES },
    ],
    resources: [{ resource: NOTES, name: 'Notes', scopes: scopes.map((name) => ({ name, description: 'see your notes' })) }],
  })
  onTestFinished(() => grantor.stop())
  const { clientId, clientSecret } = grantor.client('My API')
  const settings = { ISSUER: grantor.issuer, RESOURCE: NOTES, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret ?? '' }
  const origin = await startProgram(blockWith(GUIDE, '"grantor/resource"'), settings)
  const url = `${origin}/notes`
  const tokenFor = async (scope: string) => (await grantor.tokenFor({ client: 'My app', scope })).access_token
  const [wallet] = grantor.wallets

  const document = `${origin}/.well-known/oauth-protected-resource/notes`
  expect(await call(document, 'GET')).toMatchObject({ json: { resource: NOTES, authorization_servers: [grantor.issuer] } })
  expect((await call(url, 'GET')).challenge).toBe(
    `Bearer realm="${NOTES}", scope="notes.read", resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/notes"`,
  )
  const reading = await tokenFor('notes.read')
  expect(await call(url, 'GET', reading)).toMatchObject({ status: 200, json: { of: wallet?.address } })
  const lacking = expect.stringContaining('error="insufficient_scope"')
  expect(await call(url, 'POST', reading)).toMatchObject({ status: 403, challenge: lacking })
  const writing = await tokenFor('notes.read notes.write')
  expect(await call(url, 'POST', writing)).toMatchObject({ status: 200, json: { by: wallet?.address } })

  const app = grantor.client('My app')
  const headers = { authorization: basic(app.clientId, app.clientSecret ?? '') }
  await fetch(`${grantor.issuer}/oauth/revoke`, { method: 'POST', headers, body: new URLSearchParams({ token: writing }) })
  const invalid = expect.stringContaining('error="invalid_token"')
  expect(await call(url, 'POST', writing)).toMatchObject({ status: 401, challenge: invalid })
  expect((await call(url, 'GET', writing)).status).toBe(200)
  grantor.faults.failNext('introspect', 503, 1)
  expect((await call(url, 'POST', await tokenFor('notes.read notes.write'))).status).toBe(503)
})

test('The API in Go of the README pays once, after the wallet has signed', BUILD, async ({ skip }) => {
  if (WHY_NOT) return skip(WHY_NOT)
  const app = await startApprovalApp()
  onTestFinished(() => app.close())
  const settings = { ISSUER: app.grantor.authUrl, RESOURCE: API, CLIENT_ID: app.api.id, CLIENT_SECRET: app.api.secret }
  // The service of the tests has another scope.
  const source = blockWith(README, 'package main').replace('"pay"', '"enhancement"')
  const origin = await startProgram(source, settings)
  const token = await app.freshToken()
  const pay = () => call(`${origin}/orders/order-7/payment`, 'POST', token)

  const refused = await pay()
  expect(refused).toMatchObject({
    status: 403,
    json: { state: 'waiting', user_code: expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/) },
  })
  await sign(app.walk, refused.json as { approval_uri: string })
  const { address: signedBy } = app.walk.wallet
  const answers = await Promise.all([pay(), pay(), pay()])
  expect(answers.filter(({ status }) => status === 200)).toMatchObject([
    { json: { paid: { to: 'Alice', amount: '20', currency: 'USDC' }, signedBy } },
  ])
  for (const { status, json } of answers) if (status !== 200) expect(json).toMatchObject({ status: 403, state: 'used' })
})

/** A program with this handler, as in the README. */
const programWith = (handler: string, { check, scopes }: { check: string; scopes: string }) => `package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strconv"

	"grantor/resource"
)

var keys = 0

func newKey() string {
	keys++
	return strconv.Itoa(keys)
}

func main() {
	api, err := resource.New(resource.Options{
		Issuer:        os.Getenv("ISSUER"),
		Resource:      os.Getenv("RESOURCE"),
		Check:         resource.${check},
		Introspection: resource.IntrospectionCredentials{ClientID: os.Getenv("CLIENT_ID"), ClientSecret: os.Getenv("CLIENT_SECRET")},
		OnRefusal:     func(*resource.Error) {},
	})
	if err != nil {
		log.Fatal(err)
	}
${handler.trimEnd().replaceAll(/^(?=.)/gm, '\t')}
	needs := api.RequireToken(resource.Needs{Scopes: []string{${scopes}}})
	http.Handle("POST /enhance", needs(http.HandlerFunc(enhance)))
	log.Fatal(http.ListenAndServe("127.0.0.1:8000", nil))
}
`

test('The API in Go of the README counts its calls, and gives back what they did not cost', BUILD, async ({ skip }) => {
  if (WHY_NOT) return skip(WHY_NOT)
  const app = await startLimitApp()
  onTestFinished(() => app.close())
  await app.register({ ...WEEKLY, uses: 2 })
  const settings = { ISSUER: app.grantor.authUrl, RESOURCE: API, CLIENT_ID: app.api.id, CLIENT_SECRET: app.api.secret }
  const rest = `if err != nil {
		api.AnswerRefusal(w, err)
		return
	}
	json.NewEncoder(w).Encode(map[string]any{"usesLeft": draw.Left.Uses})`
  const handler = blockWith(README, 'api.Draw(').replace('...', () => rest)
  const origin = await startProgram(programWith(handler, { check: 'CheckIntrospection', scopes: '"enhancement"' }), settings)
  const { access_token: token } = await app.signedTokens()
  const enhance = () => call(`${origin}/enhance`, 'POST', token)
  expect(await enhance()).toMatchObject({ status: 200, json: { usesLeft: 1 } })
  expect((await app.left(token)).left).toMatchObject({ uses: 1, amount: 45_500 })
  expect(await enhance()).toMatchObject({ status: 200, json: { usesLeft: 0 } })
  const lacking = expect.stringMatching(/error="insufficient_scope".*scope="enhancement"/)
  expect(await enhance()).toMatchObject({ status: 403, challenge: lacking, json: { error: 'insufficient_scope' } })
})

/** The handler of the contract. */
const ENHANCE = `enhance := func(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	key := query.Get("key")
	amount, _ := strconv.ParseInt(query.Get("amount"), 10, 64)
	draw, err := api.Draw(r.Context(), resource.AccessTokenOf(r), resource.DrawRequest{Key: key, Amount: amount})
	if err != nil {
		api.AnswerRefusal(w, err)
		return
	}
	left := map[string]any{"uses": draw.Left.Uses, "amount": draw.Left.Amount}
	counted := map[string]any{"draw": draw.Number, "left": left, "until": draw.Until}
	if query.Has("back") {
		back, _ := strconv.ParseInt(query.Get("back"), 10, 64)
		given, err := api.GiveBack(r.Context(), resource.GiveBackRequest{GrantID: draw.GrantID, Key: key, Amount: back})
		if err != nil {
			api.AnswerRefusal(w, err)
			return
		}
		counted["returned"] = given.Returned
	}
	json.NewEncoder(w).Encode(counted)
}`

drawContract(
  'Go',
  async ({ issuer, resource, clientId, clientSecret }) => {
    const settings = { ISSUER: issuer, RESOURCE: resource, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret }
    const { origin, close } = await runProgram(
      programWith(`_ = newKey\n${ENHANCE}`, { check: 'CheckLocal', scopes: '' }),
      settings,
    )
    return { call: (token, use) => callRoute(origin, token, use), close }
  },
  { isRun: WHY_NOT === null },
)
