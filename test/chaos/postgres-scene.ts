/** A PostgreSQL server of a run's own, reached through a proxy that cuts, and what can go wrong with it. */
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { startPostgres } from '../support/postgres-server.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import type { Fault } from './run.ts'

export type PostgresScene = {
  /** an empty database, at an address that leads through the proxy */
  newDatabase(name: string): Promise<string>
  /** kill -9 of the server, and a start a moment later */
  killServer: Fault
  /** connections to it are cut before a statement arrives, or after it was committed and before the node is told */
  cutStatements: Fault
  close(): Promise<void>
}

export async function setUpPostgres(): Promise<PostgresScene> {
  const server = await startPostgres()
  const proxy = await startCuttingProxy({ port: server.port })
  return {
    async newDatabase(name) {
      const sql = postgres(server.urlOf('postgres'), { max: 1, fetch_types: false })
      await sql.unsafe(`CREATE DATABASE ${name}`)
      await sql.end()
      return server.urlOf(name).replace(`:${server.port}/`, `:${proxy.port}/`)
    },
    killServer: {
      name: 'kill -9 of PostgreSQL',
      async strike({ random, mark }) {
        await server.stop('kill')
        mark('a crash of PostgreSQL')
        await pause(random.below(500))
        await server.start()
      },
    },
    cutStatements: {
      name: 'statements cut',
      async strike({ random }) {
        for (let count = 1 + random.below(8); count > 0; count--) {
          proxy.cutNext(random.pick(['before', 'after']))
          await pause(random.below(30))
        }
      },
    },
    async close() {
      await proxy.close()
      await server.remove()
    },
  }
}
