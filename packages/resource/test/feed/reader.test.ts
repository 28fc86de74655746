/** `check: 'feed'` with a real server: connections, what ends them, and what happens to tokens meanwhile. */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { createProtectedResource, createTokenCheck, type FeedProblem, type TokenCheckOptions } from '@grantor/resource'
import { test as base, expect } from 'vitest'
import { audience, ok, wallet } from '../little-issuer.ts'
import { bearer, refusal } from '../refusal.ts'
import { type FeedServer, startFeedServer } from './feed-server.ts'

const introspection = { clientId: 'api:1', clientSecret: 'a secret' }

const test = base
  // Vitest requires the pattern.
  // oxlint-disable-next-line no-empty-pattern
  .extend('server', async ({}, { onCleanup }) => {
    const server = await startFeedServer()
    onCleanup(() => server.close())
    return server
  })
  .extend('problems', (): FeedProblem[] => [])
  .extend('options', ({ server, problems }): TokenCheckOptions & { check: 'feed' } => ({
    issuer: server.issuer.url,
    audience,
    check: 'feed',
    introspection,
    feed: { maxAge: 1, onProblem: (problem) => void problems.push(problem) },
    now: () => server.issuer.clock.now,
  }))
  .extend('check', ({ options }, { onCleanup }) => {
    const check = createTokenCheck(options)
    onCleanup(() => check.close())
    return check
  })
  .extend('token', ({ server }) => newToken(server))

async function newToken(server: FeedServer, claims: Record<string, unknown> = {}) {
  const ids = { grant_id: randomUUID(), jti: randomUUID() }
  return { ...ids, request: bearer(await server.token({ ...ids, ...claims })) }
}

/** Refuses every introspection, as a service that is down. */
function failIntrospection(server: FeedServer): void {
  server.issuer.answers.introspect = () => ({ status: 500, json: {} })
}

test('A token is accepted without a request, and refused when the feed has its grant', async ({ server, check, token }) => {
  await check.ready()
  for (let call = 0; call < 20; call++) expect(await check(token.request)).toMatchObject({ wallet })
  server.end(token.grant_id)
  await expect
    .poll(async () => (await check(token.request).catch((error: unknown) => error)) as object)
    .toMatchObject({ reason: 'ended' })
  const error = await refusal(check(token.request))
  expect([error.status, error.error]).toEqual([401, 'invalid_token'])
  expect([server.introspections(), server.connections.length]).toEqual([0, 1])
})

test('What ended before the reader started is in the snapshot', async ({ server, check, token }) => {
  const other = await newToken(server)
  server.end(token.jti)
  await check.ready()
  expect((await refusal(check(token.request))).reason).toBe('ended')
  expect(await check(other.request)).toMatchObject({ wallet })
  expect(server.introspections()).toBe(0)
})

test('Until the first snapshot is complete, each token is introspected', async ({ server, check, token }) => {
  server.instead = (connection) => server.begin(connection)
  expect(await check(token.request)).toMatchObject({ wallet })
  expect(await check(token.request)).toMatchObject({ wallet })
  expect(server.introspections()).toBe(2)
})

test('A feed that is too old is not used: introspection decides, and if it fails, the response is 503', async ({
  server,
  check,
  token,
}) => {
  await check.ready()
  server.isSending = false
  await expect.poll(() => check(token.request).then(() => server.introspections())).toBeGreaterThan(0)
  failIntrospection(server)
  const error = await refusal(check(token.request))
  expect([error.status, error.reason]).toEqual([503, 'issuer_answered_500'])
  server.isSending = true
  await check.ready()
  expect(await check(token.request)).toMatchObject({ wallet })
})

test('A server that accepts the connection and does not respond: introspection decides, and then 503', async ({
  server,
  check,
  token,
}) => {
  server.instead = () => {}
  expect(await check(token.request)).toMatchObject({ wallet })
  failIntrospection(server)
  expect((await refusal(check(token.request))).status).toBe(503)
})

test('Checks of the same issuer, resource and client share one connection; the last close ends it', async ({
  server,
  options,
  token,
}) => {
  const checks = Array.from({ length: 5 }, () => createTokenCheck(options))
  await Promise.all(checks.map((check) => check.ready()))
  await Promise.all(checks.flatMap((check) => [check(token.request), check(token.request)]))
  expect([server.connections.length, server.introspections()]).toEqual([1, 0])
  for (const check of checks.slice(1)) check.close()
  for (const check of checks.slice(1)) check.close()
  expect(await checks[0]?.(token.request)).toMatchObject({ wallet })
  expect([server.open.length, server.introspections()]).toEqual([1, 0])
  checks[0]?.close()
  await expect.poll(() => server.open.length).toBe(0)
  expect(await checks[0]?.(token.request)).toMatchObject({ wallet })
  expect([server.connections.length, server.introspections()]).toEqual([1, 1])
})

test('A check with another client has a connection of its own', async ({ server, options, check }) => {
  const other = createTokenCheck({ ...options, introspection: { ...introspection, clientId: 'api:2' } })
  await Promise.all([check.ready(), other.ready()])
  other.close()
  const names = server.connections.map(({ authorization }) => Buffer.from(authorization?.slice(6) ?? '', 'base64').toString())
  expect(names.toSorted()).toEqual(['api%3A1:a+secret', 'api%3A2:a+secret'])
})

test('When a server ends the connection, the reader continues with its cursor, and tokens need no snapshot', async ({
  server,
  check,
  token,
}) => {
  await check.ready()
  const [first] = server.connections
  server.end(token.grant_id)
  first?.response.end()
  await expect.poll(() => server.connections.length).toBe(2)
  expect(server.connections[1]?.cursor).toMatch(/^\d+\.run-1$/)
  await expect
    .poll(async () => (await check(token.request).catch((error: unknown) => error)) as object)
    .toMatchObject({ reason: 'ended' })
})

test('A server that was replaced by an older standby sends a snapshot, which replaces everything', async ({
  server,
  check,
  token,
}) => {
  server.end(token.grant_id)
  await check.ready()
  expect((await refusal(check(token.request))).reason).toBe('ended')
  server.feed = 'run-2'
  server.forgetEndings()
  for (const { response } of server.open) response.destroy()
  await expect.poll(() => server.connections.length).toBe(2)
  await expect.poll(() => check(token.request).catch(() => null)).toMatchObject({ wallet })
})

test('A message of another run of the feed on the same connection: the reader connects again without a cursor', async ({
  server,
  check,
  token,
  problems,
}) => {
  await check.ready()
  server.feed = 'run-2'
  await expect.poll(() => server.connections.length).toBe(2)
  expect(server.connections[1]?.cursor).toBeUndefined()
  await check.ready()
  const before = server.introspections()
  expect(await check(token.request)).toMatchObject({ wallet })
  expect(server.introspections()).toBe(before)
  expect(problems.map(({ kind, detail }) => [kind, detail])).toEqual([['message_missing', 'feed']])
})

test('A recording of an earlier response is refused, by a reader that is new and by one that has a state', async ({
  server,
  options,
  check,
  token,
  problems,
}) => {
  let recording = ''
  server.instead = async (connection) => {
    recording ||= await server.message(connection)
    server.begin(connection).write(`id: 1.run-1\ndata: ${recording}\n\n`)
  }
  await check.ready()
  expect(await check(token.request)).toMatchObject({ wallet })
  server.end(token.grant_id)
  const [connection] = server.open
  if (connection) await server.send({ ...connection, until: server.now() - 60_000 })
  await expect
    .poll(async () => (await check(token.request).catch((error: unknown) => error)) as object)
    .toMatchObject({ reason: 'ended' })

  failIntrospection(server)
  server.open[0]?.response.end()
  const fresh = createTokenCheck({ ...options, introspection: { ...introspection, clientId: 'api:2' } })
  expect((await refusal(fresh(token.request))).status).toBe(503)
  await expect.poll(() => problems.length).toBeGreaterThan(0)
  // Each of the two readers reports a refusal once for each connection.
  for (const { kind, detail } of problems) expect([kind, detail]).toEqual(['message_refused', 'claim nonce'])
  for (const each of [check, fresh]) expect([401, 503]).toContain((await refusal(each(token.request))).status)
  fresh.close()
})

test('Each request of the feed has a nonce of its own, 16 bytes in base64url', async ({ server, check }) => {
  await check.ready()
  server.open[0]?.response.end()
  await expect.poll(() => server.connections.length).toBe(2)
  const nonces = server.nonces
  expect(nonces).toEqual([expect.stringMatching(/^[\w-]{22}$/), expect.stringMatching(/^[\w-]{22}$/)])
  expect(new Set(nonces).size).toBe(2)
})

test('A cursor that the server refuses with 400 is forgotten', async ({ server, check }) => {
  await check.ready()
  server.instead = ({ response }) => response.writeHead(400).end()
  server.open[0]?.response.end()
  await expect.poll(() => server.connections.length).toBeGreaterThan(2)
  expect(server.connections.slice(1).map(({ cursor }) => cursor === undefined)).toEqual([
    false,
    ...server.connections.slice(2).map(() => true),
  ])
})

test.for([60, -60])(
  'A server whose clock is %i seconds ahead of the clock of the API: tokens are accepted without a request',
  async (seconds, { server, check, token }) => {
    server.clockAhead = seconds * 1000
    await check.ready()
    expect(await check(token.request)).toMatchObject({ wallet })
    expect(server.introspections()).toBe(0)
  },
)

test.for([60, -60])(
  'The clock of the server is set by %i seconds: tokens are introspected until the next connection',
  async (seconds, { server, check, token }) => {
    await check.ready()
    server.clockAhead = seconds * 1000
    server.feed = seconds < 0 ? 'run-2' : 'run-1'
    await expect.poll(() => server.connections.length).toBe(2)
    await check.ready()
    const before = server.introspections()
    expect(await check(token.request)).toMatchObject({ wallet })
    expect(server.introspections()).toBe(before)
  },
)

const BAD: Record<string, (server: FeedServer, connection: FeedServer['connections'][number]) => unknown> = {
  'a forged message': async (server, connection) => {
    const [head, , signature] = (await server.message(connection)).split('.')
    const claims = Buffer.from(JSON.stringify({ forged: true })).toString('base64url')
    connection.response.write(`data: ${head}.${claims}.${signature}\n\n`)
  },
  'a truncated message': async (server, connection) =>
    connection.response.write(`data: ${(await server.message(connection)).slice(0, -9)}\n\n`),
  'a message of another issuer': (server, connection) => server.send(connection, { iss: 'https://other.example.com' }),
  'a message that another issuer signed with a key of the same name': async (server, connection) => {
    const other = await startFeedServer()
    connection.response.write(`data: ${await other.message(connection, { iss: server.issuer.url })}\n\n`)
    await other.close()
  },
  'a message for another resource': (server, connection) => server.send(connection, { aud: 'https://other.example.com/' }),
  'an access token instead of a message': (server, connection) => server.send(connection, {}, { typ: 'at+jwt' }),
  'an older message': (server, connection) =>
    server.send(connection, { from: connection.until - 5000, until: connection.until - 4000 }),
  'a message after a gap': (server, connection) => server.send(connection, { from: server.now() }),
  'text that is no message': (_, { response }) => response.write('data: garbage\n\n'),
  'two data lines': (_, { response }) => response.write('data: garbage\ndata: garbage\n\n'),
  'a line of 10 MB': (_, { response }) => response.write(`data: ${'x'.repeat(10_000_000)}\n\n`),
  'the end of the connection': (_, { response }) => response.destroy(),
}

test.concurrent.for(Object.entries(BAD))(
  'The reader ends the connection after %s, and accepts no token because of it',
  async ([, send], { server, check, token, expect }) => {
    await check.ready()
    const [connection] = server.open
    server.isSending = false
    server.end(token.grant_id)
    server.instead = ({ response }) => response.writeHead(503).end()
    if (connection) await send(server, connection)
    await expect.poll(() => server.open.length).toBe(0)
    failIntrospection(server)
    await expect
      .poll(async () => (await check(token.request).catch((error: unknown) => error)) as object)
      .toMatchObject({ status: 503 })
    server.instead = undefined
    server.isSending = true
    await check.ready()
    expect((await refusal(check(token.request))).reason).toBe('ended')
  },
)

test('A line of 10 MB is not read to its end', async ({ server, check, problems }) => {
  await check.ready()
  server.isSending = false
  server.open[0]?.response.write(`data: ${'x'.repeat(10_000_000)}`)
  await expect.poll(() => problems.map(({ kind, detail }) => [kind, detail])).toEqual([['message_refused', 'a line is too long']])
})

test('Comments, unknown fields, lines with CRLF and events in single bytes are read', async ({ server, check, token }) => {
  server.instead = async (connection) => {
    const response = server.begin(connection)
    const text = `: comment\r\nevent: other\r\nretry\r\nid: 1.run-1\r\ndata:${await server.message(connection)}\r\n\r\n`
    response.write(text.slice(0, 40))
    for (const character of text.slice(40, 60)) response.write(character)
    response.write(text.slice(60))
  }
  await check.ready()
  expect(await check(token.request)).toMatchObject({ wallet })
  expect(server.introspections()).toBe(0)
})

test('Credentials that the server refuses are reported once', async ({ server, check, token, problems }) => {
  server.instead = ({ response }) => response.writeHead(401).end()
  expect(await check(token.request)).toMatchObject({ wallet })
  await expect.poll(() => server.connections.length).toBeGreaterThan(2)
  expect(problems).toEqual([{ kind: 'refused', description: expect.any(String) as string, detail: 'status 401' }])
})

test('An authorization server without a feed is reported, and each token is introspected', async ({
  server,
  check,
  token,
  problems,
}) => {
  delete server.issuer.answerEndings
  expect(await check(token.request)).toMatchObject({ wallet })
  await expect.poll(() => problems.map(({ kind }) => kind)).toEqual(['not_offered'])
  expect(server.introspections()).toBe(1)
})

test('A response that is no stream of events is not read', async ({ server, check, token }) => {
  server.instead = ({ response }) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in</p>')
  expect(await check(token.request)).toMatchObject({ wallet })
  await expect.poll(() => server.connections.length).toBeGreaterThan(1)
  expect(server.introspections()).toBe(1)
})

test('A token that was checked before is refused when it expires', async ({ server, check, token }) => {
  await check.ready()
  expect(await check(token.request)).toMatchObject({ wallet })
  server.issuer.clock.now += 600
  expect((await refusal(check(token.request))).reason).toBe('expired')
})

test('The caller cannot change what the next call with the same token gets', async ({ check, token }) => {
  await check.ready()
  const first = await check(token.request)
  first.wallet = '0x0'
  expect(() => Object.assign(first.claims, { sub: '0x0' })).toThrow(TypeError)
  expect(() => (first.scopes as string[]).push('admin')).toThrow(TypeError)
  expect(await check(token.request)).toMatchObject({ wallet, scopes: ['enhancement'], claims: { sub: wallet } })
})

test('A key that was retired counts at once: the token is introspected', async ({ server, check, token }) => {
  await check.ready()
  expect(await check(token.request)).toMatchObject({ wallet })
  const [connection] = server.open
  server.isSending = false
  server.issuer.answers.introspect = () => ok({ active: false })
  if (connection) await server.send(connection, { keys: ['EdDSA'] })
  await expect
    .poll(async () => (await check(token.request).catch((error: unknown) => error)) as object)
    .toMatchObject({ reason: 'inactive' })
})

test('A protected resource checks its tokens with the feed too', async ({ server, options, token }) => {
  const { audience: resource, ...others } = options
  const api = createProtectedResource({ ...others, resource })
  await api.check.ready()
  expect(await api.admit(token.request)).toMatchObject({ kind: 'admitted', token: { wallet } })
  server.end(token.grant_id)
  await expect.poll(() => api.admit(token.request)).toMatchObject({ kind: 'refused', answer: { status: 401 } })
  expect(server.introspections()).toBe(0)
  api.check.close()
})

test('The connection of the feed does not keep a process alive', async ({ server, token }) => {
  const program = `
    import { createTokenCheck } from '@grantor/resource'
    const options = ${JSON.stringify({ issuer: server.issuer.url, audience, introspection })}
    const check = createTokenCheck({ ...options, check: 'feed' })
    await check.ready()
    const { wallet } = await check(${JSON.stringify(token.request)})
    console.log(wallet)
  `
  const args = ['--conditions', 'grantor-source', '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
  expect(stdout.trim()).toBe(wallet)
  expect([server.connections.length, server.introspections()]).toEqual([1, 0])
})

test('Unusable options are refused when the check is made', ({ options }) => {
  const { introspection: _, ...others } = options
  const make = (more: Partial<TokenCheckOptions>) => () => createTokenCheck({ ...others, ...more })
  expect(make({})).toThrow("check: 'feed' needs introspection, with clientId and clientSecret")
  expect(make({ check: 'introspection', feed: {} })).toThrow("check: 'introspection' needs introspection")
  expect(make({ check: 'local' })).toThrow("feed needs check: 'feed'")
  for (const maxAge of [0, 61, Number.NaN])
    expect(make({ introspection, feed: { maxAge } })).toThrow('feed.maxAge must be seconds, 1 to 60')
  expect(make({ check: 'other' as 'feed' })).toThrow("check must be 'local', 'introspection' or 'feed'")
})

test('Without the feed, `check` chooses between introspection and the token alone', async ({ server, options, token }) => {
  const { feed: _, ...others } = options
  for (const [check, introspections] of [
    ['local', 0],
    ['introspection', 1],
  ] as const) {
    const made = createTokenCheck({ ...others, check })
    await made.ready()
    expect(await made(token.request)).toMatchObject({ wallet })
    made.close()
    expect(server.introspections()).toBe(introspections)
  }
  expect(server.connections).toHaveLength(0)
})
