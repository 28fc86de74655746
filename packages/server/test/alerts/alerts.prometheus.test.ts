/**
 * The dashboard and the alerts on a real Prometheus: every panel has data after plain load, no alert fires under plain load, and each
 * alert fires under its fault.
 */

import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { createMetricsServer } from '../../src/http/metrics-server.ts'
import { createMetrics } from '../../src/observability/metrics/metrics.ts'
import { launch, newFolder, type Running, run } from '../app/run.ts'
import { claimsOf, type Tokens, tokensOf } from '../support/app.ts'
import { startCollector } from '../support/collector.ts'
import { packedLiteral } from '../support/fill.ts'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { freePorts } from '../support/free-ports.ts'
import { startHook } from '../support/hook.ts'
import { OWN_ENVIRONMENT } from '../support/own-environment.ts'
import { endEverything } from '../support/signed-app.ts'
import { type Grantor, TEST_LOGIN_SECRET, TEST_SECRET, type TestClient } from '../support/start.ts'
import { parameterOf, requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'
import { alerts, queries } from './files.ts'
import { startPrometheus } from './prometheus-server.ts'

type Service = { authUrl: string; metricsPort: number; env: Record<string, string> }

async function serviceOn(databaseUrl: string, more: Record<string, string> = {}): Promise<Service> {
  const [auth = 0, login = 0, metricsPort = 0] = await freePorts(3)
  const authUrl = `http://localhost:${auth}`
  const env = {
    GRANTOR_DATABASE_URL: databaseUrl,
    GRANTOR_AUTH_URL: authUrl,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_SECRET: TEST_SECRET,
    GRANTOR_LOGIN_SECRET: TEST_LOGIN_SECRET,
    GRANTOR_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
    GRANTOR_DRAIN_SECONDS: '0',
    GRANTOR_FAILURE_LIMIT: '20',
    ...more,
  }
  await run(['migrate'], env, Math.floor(Date.now() / 1000))
  return { authUrl, metricsPort, env }
}

/** A way to the database that can go silent: bytes and new connections are then kept back. */
async function startWay(port: number) {
  const sockets = new Set<Socket>()
  const way = createNetServer((client) => {
    const server = connect(port, '127.0.0.1')
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => (sockets.delete(socket), client.destroy(), server.destroy()))
    }
    if (!state.silent) client.pipe(server).pipe(client)
  })
  const state = { silent: false }
  await new Promise<void>((resolve) => way.listen(0, '127.0.0.1', resolve))
  return {
    port: (way.address() as AddressInfo).port,
    silence() {
      state.silent = true
      for (const socket of sockets) socket.unpipe()
    },
    heal() {
      state.silent = false
      for (const socket of sockets) socket.destroy()
    },
    close() {
      for (const socket of sockets) socket.destroy()
      way.close()
    },
  }
}

async function createClient({ env, authUrl }: Service, ...more: string[]): Promise<TestClient> {
  const words = ['clients', 'create', '--name', 'Demo', '--redirect-uri', 'https://app.example.net/callback', '--json', ...more]
  const { out } = await run(words, env, Math.floor(Date.now() / 1000))
  const { client_id: id, client_secret: secret } = JSON.parse(out) as { client_id: string; client_secret: string }
  const client = {
    id,
    secret,
    redirectUris: ['https://app.example.net/callback'],
    scopes: ['enhancement'],
  } as unknown as TestClient
  const walk = new Walk({ authUrl } as Grantor)
  // The service notices a new client within a second.
  await expect.poll(async () => (await walk.authorize(requestOf(client))).status).toBe(302)
  return client
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const test = base
  .extend(
    'prometheus',
    FILE,
    started(startPrometheus, (prometheus) => prometheus.stop()),
  )
  .extend(
    'collector',
    FILE,
    started(startCollector, (collector) => collector.close()),
  )
  // panels of the hook have data only with a hook
  .extend(
    'hook',
    FILE,
    started(startHook, (hook) => hook.close()),
  )
  .extend('service', FILE, async ({ database, collector, hook, prometheus }, { onCleanup }) => {
    const { hostname, port, pathname, username, password } = new URL(database.url)
    expect(['127.0.0.1', 'localhost']).toContain(hostname)
    const way = await startWay(Number(port || 5432))
    const url = `postgres://${username}:${password}@127.0.0.1:${way.port}${pathname}`
    const service = await serviceOn(url, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...hook.environment })
    const running = launch(['serve'], service.env)
    onCleanup(async () => {
      running.child.kill('SIGKILL')
      await running.ended()
      way.close()
    })
    await running.printed('auth service is ready')
    prometheus.scrape([service.metricsPort])
    const walk = new Walk({ authUrl: service.authUrl } as Grantor)
    const client = await createClient(service)
    await walk.signIn(requestOf(client))
    return { ...service, way, walk, client }
  })
  // further processes, which end with the file
  .extend(
    'others',
    FILE,
    started(
      () => Promise.resolve<Running['child'][]>([]),
      (children) => children.forEach((child) => child.kill('SIGKILL')),
    ),
  )

type OfService = { walk: Walk; client: TestClient }

async function freshTokens({ walk, client }: OfService): Promise<Tokens> {
  const { location } = await walk.authorize(requestOf(client))
  return tokensOf(await walk.exchange(client, parameterOf(location, 'code')))
}

/** Sign-ins, grants, refreshes, revocations and a few refusals, as in a plain hour. */
async function plainLoad(of: OfService, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const browser = new Walk(of.walk.grantor, testWallet(round % 2 === 0 ? 0 : 1))
    await browser.signIn(requestOf(of.client))
    const first = await freshTokens({ ...of, walk: browser })
    const second = tokensOf(await of.walk.refresh(of.client, first.refresh_token))
    await of.walk.introspect(of.client, second.access_token)
    await of.walk.revoke(of.client, second.refresh_token)
    await of.walk.browse({ method: 'POST', path: '/oauth/token', body: '' })
    await pause(300)
  }
}

const firing = (alert: string) => expect.stringMatching(new RegExp(`^${alert}$`))

test('After plain load, every panel of the dashboard has data, and no alert fires', async ({ service, prometheus }) => {
  const seen = new Set<string>()
  for (let time = 0; time < 8; time++) {
    await plainLoad(service, 4)
    for (const alert of await prometheus.firing()) seen.add(alert)
  }
  expect([...seen]).toEqual([])
  for (const { panel, expr } of queries()) {
    const values = await prometheus.query(expr.replaceAll('$job', 'grantor').replaceAll('$__rate_interval', '10s'))
    expect({ panel, expr, hasData: values.some((value) => !Number.isNaN(value)) }).toEqual({ panel, expr, hasData: true })
  }
})

/** Waits until the alert fires. Repeats the fault meanwhile. */
async function expectFiring(
  prometheus: { firing(): Promise<string[]> },
  names: string[],
  fault: () => Promise<unknown> = () => pause(300),
): Promise<void> {
  await expect
    .poll(
      async () => {
        await fault()
        return prometheus.firing()
      },
      { timeout: 110_000, interval: 200 },
    )
    .toEqual(expect.arrayContaining(names.map(firing)))
}

test('GrantorReplays fires if refresh tokens of one client are used again', async ({ service, prometheus }) => {
  await expectFiring(prometheus, ['GrantorReplays'], async () => {
    const first = await freshTokens(service)
    const second = tokensOf(await service.walk.refresh(service.client, first.refresh_token))
    await service.walk.refresh(service.client, second.refresh_token)
    await service.walk.refresh(service.client, first.refresh_token)
  })
})

test('GrantorRateLimited fires if many requests are above a limit', async ({ service, prometheus }) => {
  const wrong = { ...service.client, secret: 'W'.repeat(43) }
  await expectFiring(prometheus, ['GrantorRateLimited'], () =>
    Promise.all(Array.from({ length: 20 }, () => service.walk.introspect(wrong, 'x'))),
  )
})

test('GrantorAlarm fires if the database has lost a write', async ({ service, prometheus, database }) => {
  await expectFiring(prometheus, ['GrantorAlarm'], async () => {
    const first = await freshTokens(service)
    const second = tokensOf(await service.walk.refresh(service.client, first.refresh_token))
    await database.sql.unsafe(
      `UPDATE grants SET generation = 0 WHERE id = ${packedLiteral(claimsOf(second.access_token).grant_id)}`,
    )
    await service.walk.refresh(service.client, second.refresh_token)
  })
})

test('GrantorTracesLost fires if the collector refuses traces', async ({ service, prometheus, collector }) => {
  collector.answer = (response) => void response.writeHead(400).end()
  await expectFiring(prometheus, ['GrantorTracesLost'], () => plainLoad(service, 1))
  collector.answer = (response) => void response.writeHead(200).end('{}')
})

test('GrantorHookFails fires if the answers of the hook cannot be used', async ({ service, prometheus, hook }) => {
  hook.answer = { answer: 'perhaps' }
  await expectFiring(prometheus, ['GrantorHookFails'], () => service.walk.authorize(requestOf(service.client)))
  hook.answer = { answer: 'yes' }
})

test('GrantorLogoutNoticesLost fires if a client cannot be reached', { timeout: 150_000 }, async ({ service, prometheus }) => {
  const client = await createClient(service, '--backchannel-logout-uri', 'https://unreachable.invalid/logout')
  const walk = new Walk(service.walk.grantor, testWallet(2))
  await walk.signIn(requestOf(client))
  await freshTokens({ walk, client })
  await endEverything(walk)
  await expectFiring(prometheus, ['GrantorLogoutNoticesLost'])
})

test('If the database goes silent, GrantorStoreUnavailable, GrantorServerErrors, GrantorSlow, GrantorBackgroundTaskFails and the alerts of the error budget fire', async ({
  service,
  prometheus,
}) => {
  const { refresh_token } = await freshTokens(service)
  service.way.silence()
  const names = [
    'GrantorStoreUnavailable',
    'GrantorServerErrors',
    'GrantorSlow',
    'GrantorBackgroundTaskFails',
    'GrantorErrorBudgetFast',
    'GrantorErrorBudgetSlow',
  ]
  await expectFiring(prometheus, names, () => service.walk.refresh(service.client, refresh_token))
  service.way.heal()
  await expect.poll(prometheus.firing, { timeout: 60_000 }).not.toContain('GrantorStoreUnavailable')
})

test('GrantorKeyOverdue fires if the clock of a node is three days behind, and GrantorEventLoopLag if its process does not run', async ({
  service,
  prometheus,
  others,
}) => {
  const folder = newFolder()
  const offset = join(folder, 'offset')
  writeFileSync(offset, String(-3 * 86_400))
  const behind = await serviceOn(`sqlite:${join(folder, 'grantor.sqlite')}`, { GRANTOR_KEY_ROTATION_DAYS: '1' })
  const program = fileURLToPath(new URL('../support/serve.ts', import.meta.url))
  const env = { ...OWN_ENVIRONMENT, ...behind.env, TEST_CLOCK_OFFSET_FILE: offset }
  const child = spawn(process.execPath, [program], { env, stdio: 'ignore' })
  others.push(child)
  prometheus.scrape([service.metricsPort, behind.metricsPort])
  await expectFiring(prometheus, ['GrantorKeyOverdue'])
  await expectFiring(prometheus, ['GrantorEventLoopLag'], async () => {
    child.kill('SIGSTOP')
    await pause(500)
    child.kill('SIGCONT')
    await pause(300)
  })
})

test('GrantorWorkersEnd fires if workers are killed, and GrantorDown if the whole node is', async ({
  service,
  prometheus,
  others,
}) => {
  const node = await serviceOn(`sqlite:${join(newFolder(), 'grantor.sqlite')}`)
  const running = launch(['serve', '--workers', '2'], node.env)
  others.push(running.child)
  await running.printed('auth service is ready')
  prometheus.scrape([service.metricsPort, node.metricsPort])
  await expect.poll(() => prometheus.query(`grantor_workers{instance="127.0.0.1:${node.metricsPort}"}`)).toEqual([2])
  const pids = () => [...running.out().matchAll(/"pid":(\d+),"msg":"a replacement worker is ready"|"workers":\[(\d+),/g)]
  await expectFiring(prometheus, ['GrantorWorkersEnd'], async () => {
    const pid = Number(pids().at(-1)?.[1] ?? pids().at(-1)?.[2])
    const before = pids().length
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => pids().length).toBeGreaterThan(before)
  })
  running.child.kill('SIGKILL')
  await expectFiring(prometheus, ['GrantorDown'])
})

// These faults take a cluster, or an outage of minutes. The metrics are those of the product, on a listener of its own.
test('GrantorAuditLinesLost, GrantorAuditHeadOld, GrantorFeedBehind and GrantorDatabaseMachineAway fire on their metrics', async ({
  service,
  prometheus,
}) => {
  const metrics = createMetrics()
  const page = createMetricsServer(metrics)
  const port = await listening(page)
  prometheus.scrape([service.metricsPort, port])
  await expect.poll(() => prometheus.query(`grantor_audit_lines_lost_total{instance="127.0.0.1:${port}"}`)).toEqual([0])
  metrics.countLostAuditLines(3)
  metrics.setMachinesAway(['db2:5432'])
  metrics.watchAuditHead(() => 7_300)
  metrics.watchFeed(() => ({ entries: 1, bytes: 100, readers: 1, age: 4, slowestAge: 4, delay: 0 }))
  await expectFiring(prometheus, [
    'GrantorAuditLinesLost',
    'GrantorAuditHeadOld',
    'GrantorFeedBehind',
    'GrantorDatabaseMachineAway',
  ])
  page.close()
})

test('Each alert of the package is in a test of this file', () => {
  const text = readFileSync(new URL(import.meta.url), 'utf8')
  expect(alerts().filter(({ alert }) => !text.includes(`'${alert}'`))).toEqual([])
})
