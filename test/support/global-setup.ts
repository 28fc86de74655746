/**
 * Runs once before all test files: unpacks the browser, so that no test's timeout includes this time, and keeps the one
 * PostgreSQL that test files share. PostgreSQL starts at the first request of a test file, and stops at the end.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { findChromium } from './chromium.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** the URL that returns the address of the shared PostgreSQL */
    postgresKeeper: string
  }
}

export default async function prepare(project: TestProject): Promise<() => Promise<void>> {
  await findChromium()
  let shared: Promise<PostgresServer> | undefined
  const keeper = createServer((_, reply) => {
    shared ??= startPostgres()
    shared.then(
      (server) => reply.end(server.urlOf('postgres')),
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
    await (await shared?.catch(() => undefined))?.remove()
  }
}
