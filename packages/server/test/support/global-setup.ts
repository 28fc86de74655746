/**
 * Runs once before all test files: unpacks the browser, so that no test's timeout includes this time, and keeps the one
 * PostgreSQL and the one Citus cluster that test files share. Each starts at the first request of a test file, and stops at the end.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { type Cluster, startCluster } from '../citus/cluster.ts'
import { findChromium } from './chromium.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

export default async function prepare(project: TestProject): Promise<() => Promise<void>> {
  await findChromium()
  let postgres: Promise<PostgresServer> | undefined
  let citus: Promise<Cluster> | undefined
  const urlsOf = async (path: string | undefined): Promise<string> => {
    if (path !== '/citus') return (await (postgres ??= startPostgres())).urlOf('postgres')
    const { coordinator, workers } = await (citus ??= startCluster(2))
    return JSON.stringify([coordinator, ...workers].map((server) => server.urlOf('postgres')))
  }
  const keeper = createServer((request, reply) => {
    urlsOf(request.url).then(
      (text) => reply.end(text),
      (error: unknown) => {
        reply.statusCode = 500
        reply.end(String(error))
      },
    )
  })
  keeper.listen(0, '127.0.0.1')
  await once(keeper, 'listening')
  project.provide('postgresKeeper', `http://127.0.0.1:${(keeper.address() as AddressInfo).port}`)
  return async () => {
    keeper.close()
    await (await postgres?.catch(() => undefined))?.remove()
    await (await citus?.catch(() => undefined))?.close()
  }
}
