/**
 * The package for Python in sdks/python: its own tests, and the programs of its README and of docs/guides/resource-languages.md with a running service.
 * TEST_PYTHON names a Python that has `grantor-resource[fastapi]`, `uvicorn`, `pytest` and `mypy`.
 */
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

const PYTHON = process.env.TEST_PYTHON ?? '/usr/bin/python3'
const PACKAGE = join(import.meta.dirname, '../../../../sdks/python')
const GUIDE = 'guides/resource-languages.md'
const NOTES = 'https://api.example.com/notes'
const ENVIRONMENT = { ...process.env, PYTHONPATH: join(PACKAGE, 'src'), PYTHONDONTWRITEBYTECODE: '1' }

const run = promisify(execFile)
const hasPackages = spawnSync(PYTHON, ['-c', 'import fastapi, uvicorn, httpx, jwt, pytest, mypy']).status === 0

type Program = { origin: string; close: () => Promise<void> }

/** Runs a program of a page with the last command of the guide, on a free port instead of 8000. */
async function runProgram(source: string, env: Record<string, string>): Promise<Program> {
  const [port = 0] = await freePorts(1)
  const cwd = mkdtempSync(join(tmpdir(), 'grantor-python-'))
  writeFileSync(join(cwd, 'main.py'), source)
  const command = blockWith(GUIDE, 'uvicorn main:app').trim().split('\n').at(-1) ?? ''
  const argv = ['-m', ...command.replace('8000', String(port)).split(' ')]
  const program = spawn(PYTHON, argv, { cwd, env: { ...ENVIRONMENT, ...env }, stdio: ['ignore', 'ignore', 'inherit'] })
  async function close(): Promise<void> {
    if (program.exitCode !== null) return
    const exit = once(program, 'exit')
    program.kill()
    await exit
  }
  const origin = `http://127.0.0.1:${port}`
  try {
    await vi.waitFor(() => fetch(origin), { timeout: 60_000 })
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

test.runIf(hasPackages)('The package for Python passes mypy, its tests and the vectors of all packages', async () => {
  const cache = mkdtempSync(join(tmpdir(), 'grantor-mypy-'))
  await run(PYTHON, ['-m', 'mypy', 'src', 'tests', '--cache-dir', cache], { cwd: PACKAGE, env: ENVIRONMENT })
  const { stdout } = await run(PYTHON, ['-m', 'pytest', '-q', '-p', 'no:cacheprovider'], { cwd: PACKAGE, env: ENVIRONMENT })
  expect(stdout).toMatch(/\d+ passed/)
})

test.runIf(hasPackages)(
  'The API in Python of the guide accepts tokens with the feed alone, and refuses a revoked token',
  async () => {
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
    const origin = await startProgram(blockWith(GUIDE, 'grantor_resource.starlette'), settings)
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

    // Only the feed can accept a token from now on.
    grantor.faults.failNext('introspect', 503, 900)
    const writing = await tokenFor('notes.read notes.write')
    await expect.poll(async () => (await call(url, 'POST', writing)).status).toBe(200)
    const app = grantor.client('My app')
    const headers = { authorization: basic(app.clientId, app.clientSecret ?? '') }
    await fetch(`${grantor.issuer}/oauth/revoke`, { method: 'POST', headers, body: new URLSearchParams({ token: writing }) })
    await expect.poll(async () => (await call(url, 'POST', writing)).status).toBe(401)
    expect((await call(url, 'POST', writing)).challenge).toContain('error="invalid_token"')
    expect((await call(url, 'GET', reading)).status).toBe(200)
    await grantor.stop()
    await expect.poll(async () => (await call(url, 'GET', reading)).status).toBe(503)
  },
)

test.runIf(hasPackages)('The API in Python of the README pays once, after the wallet has signed', async () => {
  const app = await startApprovalApp()
  onTestFinished(() => app.close())
  const settings = { ISSUER: app.grantor.authUrl, RESOURCE: API, CLIENT_ID: app.api.id, CLIENT_SECRET: app.api.secret }
  // The service of the tests has another scope.
  const source = blockWith('../sdks/python/README.md', 'approval.receipt').replace('["pay"]', '["enhancement"]')
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

const README = '../sdks/python/README.md'
/** The program of the README for approvals, to which the block for draws belongs. */
const programWith = (route: string) =>
  `import uuid\n${blockWith(README, 'approval.receipt').replace('["pay"]', '["enhancement"]')}\n\n${route}`

test.runIf(hasPackages)('The API in Python of the README counts its calls, and gives back what they did not cost', async () => {
  const app = await startLimitApp()
  onTestFinished(() => app.close())
  await app.register({ ...WEEKLY, uses: 2 })
  const settings = { ISSUER: app.grantor.authUrl, RESOURCE: API, CLIENT_ID: app.api.id, CLIENT_SECRET: app.api.secret }
  const origin = await startProgram(programWith(blockWith(README, 'resource.draw(token')), settings)
  const { access_token: token } = await app.signedTokens()
  const enhance = () => call(`${origin}/enhance`, 'POST', token)
  expect(await enhance()).toMatchObject({ status: 200, json: { usesLeft: 1 } })
  expect((await app.left(token)).left).toMatchObject({ uses: 1, amount: 45_500 })
  expect(await enhance()).toMatchObject({ status: 200, json: { usesLeft: 0 } })
  const lacking = expect.stringMatching(/error="insufficient_scope".*scope="enhancement"/)
  expect(await enhance()).toMatchObject({ status: 403, challenge: lacking, json: { error: 'insufficient_scope' } })
})

/** The route of the contract. */
const ENHANCE = `
limited = ProtectedResource(
    issuer=os.environ["ISSUER"],
    resource=os.environ["RESOURCE"],
    check="local",
    introspection=IntrospectionCredentials(os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"]),
    on_refusal=lambda refusal: None,
)


@app.post("/enhance")
def enhance(
    token: Annotated[AccessToken, Depends(require_token(limited))], key: str, amount: int, back: int | None = None
):
    draw = limited.draw(token, key=key, amount=amount)
    counted = {"draw": draw.draw, "left": {"uses": draw.left.uses, "amount": draw.left.amount}, "until": draw.until}
    if back is None:
        return counted
    given = limited.give_back(grant_id=draw.grant_id, key=key, amount=back)
    return {**counted, "returned": given.returned}
`

drawContract(
  'Python',
  async ({ issuer, resource, clientId, clientSecret }) => {
    const settings = { ISSUER: issuer, RESOURCE: resource, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret }
    const { origin, close } = await runProgram(programWith(ENHANCE), settings)
    return { call: (token, use) => callRoute(origin, token, use), close }
  },
  { isRun: hasPackages },
)
