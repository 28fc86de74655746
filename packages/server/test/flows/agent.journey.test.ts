/** The example of an agent whose user signs each action, as a process of its own, with the example's API. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createItemsApi, type Enhancement } from '../../../../examples/agent/api.ts'
import type { Address } from '../../src/protocol/wallet/address.ts'
import { signInApp } from '../support/app.ts'
import { approvalAppOf, createApi, decide, openApproval, sign } from '../support/approvals.ts'
import { allowDevice, createDeviceClient } from '../support/device.ts'
import { freePorts } from '../support/free-ports.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { requestOf, Walk } from '../support/walk.ts'

const PROGRAM = join(import.meta.dirname, '../../../../examples/agent/index.ts')
const ITEM = ['7', '3']

let grantor: Grantor
let apiUrl: string
let client: TestClient
let done: [wallet: string, enhancement: Enhancement][]
let api: Server
let port: number | undefined
let close: () => Promise<void>

beforeAll(async () => {
  const ports = await freePorts(1)
  port = ports[0]
  apiUrl = `http://localhost:${port}/`
  // An access token of three seconds expires between two calls of the agent.
  grantor = await startGrantor({ lifetimes: { accessToken: 3 } })
  // The program polls and makes proofs in real time.
  const ticking = setInterval(() => (grantor.clock.at = Math.floor(Date.now() / 1000)), 100)
  client = await createDeviceClient(grantor, { name: 'Agent', scopes: ['enhancement'], resources: [apiUrl] })
  const server = await grantor.createClient({ name: 'Items', redirectUris: [], resourceServer: apiUrl })
  done = []
  api = createItemsApi({
    issuer: grantor.authUrl,
    resource: apiUrl,
    clientId: server.id,
    clientSecret: server.secret,
    enhance: (...enhancement) => done.push(enhancement),
  })
  await startApi()
  close = async () => {
    clearInterval(ticking)
    stopApi()
    await grantor.close()
  }
})
afterAll(() => close())

async function startApi(): Promise<void> {
  api.listen(port, '127.0.0.1')
  await once(api, 'listening')
}

function stopApi(): void {
  api.close()
  api.closeAllConnections()
}

/** Starts the agent, whose user signs in and goes away. */
async function signInAgent(walk: Walk) {
  done.length = 0
  const child = spawn(process.execPath, [PROGRAM, grantor.authUrl, client.id, apiUrl, ...ITEM])
  onTestFinished(() => void child.kill())
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')))
  const exited = once(child, 'exit')
  const find = async (pattern: RegExp): Promise<string> => {
    await expect.poll(() => out, { timeout: 30_000 }).toMatch(pattern)
    return pattern.exec(out)?.[1] ?? ''
  }
  await allowDevice(walk, { user_code: await find(/enter the code ([A-Z]{4}-[A-Z]{4})\n/) })
  return { find, out: () => out, exit: async () => (await exited)[0] as number }
}

/** The same, until the agent shows the link of the action. */
async function startAgent(walk: Walk) {
  const agent = await signInAgent(walk)
  const approval = { approval_uri: await agent.find(/^Sign this action at (\S+)$/m) }
  const letters = await agent.find(/^The page shows the letters ([A-Z]{4}-[A-Z]{4})$/m)
  return { ...agent, approval, letters }
}

/** Whether an agent of this wallet has refreshed its tokens. */
const hasRefreshed = async (wallet: string) =>
  (await grantor.store.grants.listUnendedGrants({ wallet: wallet as Address, limit: 50 })).some(
    ({ generation }) => generation > 0,
  )

test('The agent shows the link and the letters, waits, and goes on after the signature; the API acts exactly once', async () => {
  const walk = new Walk(grantor)
  const agent = await startAgent(walk)
  const page = await openApproval(walk, agent.approval)
  expect(page.body).toContain('<blockquote lang="" dir="auto">“Enhance item 7 to level 3”</blockquote>')
  expect(page.body).toContain(agent.letters)
  // The agent repeats the call, also with a new access token.
  await expect.poll(() => hasRefreshed(walk.wallet.address), { timeout: 30_000 }).toBe(true)
  expect(done).toEqual([])
  await sign(walk, agent.approval)
  expect(await agent.exit()).toBe(0)
  expect(agent.out()).toMatch(/Done: item 7 has level 3\.\n$/)
  expect(agent.out().match(/Sign this action/g)).toHaveLength(1)
  expect(done).toEqual([[walk.wallet.address, { item: '7', level: 3 }]])
  expect(grantor.events.filter(({ event }) => event === 'approval_used')).toHaveLength(1)
})

test('If the user declines, the agent stops, and the API does nothing', async () => {
  const walk = new Walk(grantor)
  const agent = await startAgent(walk)
  await decide(walk, agent.approval, 'decline')
  expect(await agent.exit()).toBe(1)
  expect(agent.out()).toMatch(/Stopped\. You declined this action\. It was not done\.\n$/)
  expect(done).toEqual([])
})

test('If the user does not sign in time, the agent stops, and the API does nothing', async () => {
  const agent = await startAgent(new Walk(grantor))
  const database = new DatabaseSync(grantor.databasePath)
  database.prepare('UPDATE approvals SET expires_at = ? WHERE answered_at IS NULL').run(grantor.clock.now() - 1)
  database.close()
  expect(await agent.exit()).toBe(1)
  expect(agent.out()).toMatch(/Stopped\. The action was not signed in time\. It was not done\.\n$/)
  expect(done).toEqual([])
})

test('If the user ends the access of the agent, the agent stops, and the API does nothing', async () => {
  const walk = new Walk(grantor)
  await walk.signIn(requestOf(await grantor.createClient()))
  const agent = await startAgent(walk)
  await walk.postForm('/account/apps/end', { client_id: client.id })
  expect(await agent.exit()).toBe(1)
  expect(agent.out()).toMatch(
    /Stopped\. The access of this agent was ended\. Start the agent again if you want to allow it again\.\n$/,
  )
  expect(done).toEqual([])
})

test('If the user ends the access of the agent after the signature and before the next call, the agent stops, and the API does nothing', async () => {
  const walk = new Walk(grantor)
  const agent = await startAgent(walk)
  // Without the API, the agent cannot use the signature before the end.
  stopApi()
  await sign(walk, agent.approval)
  await walk.postForm('/account/apps/end', { client_id: client.id })
  await startApi()
  expect(await agent.exit()).toBe(1)
  expect(agent.out()).toMatch(/Stopped\. The access of this agent was ended\./)
  expect(done).toEqual([])
})

test('If the API does not answer for a while, the agent repeats its call, and the API acts once', async () => {
  const walk = new Walk(grantor)
  const agent = await startAgent(walk)
  stopApi()
  await agent.find(/^(The API did not answer\. Trying again\.)$/m)
  await sign(walk, agent.approval)
  await startApi()
  expect(await agent.exit()).toBe(0)
  expect(done).toEqual([[walk.wallet.address, { item: '7', level: 3 }]])
})

test('If the user has too many open questions, the agent says so and waits', async () => {
  const app = await signInApp(grantor)
  const other = approvalAppOf(app, await createApi(grantor))
  for (let grants = 0; grants < 4; grants++) {
    const token = await other.freshToken()
    for (let questions = 0; questions < 5; questions++) await other.asked(token)
  }
  const agent = await signInAgent(app.walk)
  await agent.find(/^(Let the user answer the open questions first, or try again later\.)$/m)
  expect(agent.out()).not.toContain('Sign this action')
  expect(done).toEqual([])
})
