/** A PostgreSQL server for one run behind a cutting proxy, and its faults. */
import { setTimeout as pause } from 'node:timers/promises'
import { startPostgres } from '../support/postgres-server.ts'
import { connect } from '../support/sql.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import type { ServiceFault } from './run.ts'
import { waitForStatements } from './statements-ended.ts'

export type PostgresScene = {
  /** creates an empty database, and returns its address at the proxy */
  newDatabase(name: string): Promise<string>
  /** kill -9 of the server, and a start a moment later */
  killServer: ServiceFault
  /** connections are cut before a statement arrives, or after its commit and before the node receives the result */
  cutStatements: ServiceFault
  statementsEnded(): Promise<void>
  close(): Promise<void>
}

export async function setUpPostgres(): Promise<PostgresScene> {
  const server = await startPostgres()
  const proxy = await startCuttingProxy({ port: server.port })
  return {
    async newDatabase(name) {
      const sql = connect(server.urlOf('postgres'))
      await sql.unsafe(`CREATE DATABASE ${name}`)
      await sql.end()
      return server.urlOf(name).replace(`:${server.port}/`, `:${proxy.port}/`)
    },
    killServer: {
      name: 'kill -9 of PostgreSQL',
      async inject({ random, mark }) {
        await server.stop('kill')
        mark('kill -9 of PostgreSQL')
        await pause(random.below(500))
        await server.start()
      },
    },
    cutStatements: {
      name: 'one to eight connections to PostgreSQL cut',
      async inject({ random }) {
        for (let count = 1 + random.below(8); count > 0; count--) {
          proxy.cutNext(random.pick(['before', 'after']))
          await pause(random.below(30))
        }
      },
    },
    statementsEnded: () => waitForStatements(() => server.urlOf('postgres')),
    async close() {
      await proxy.close()
      await server.remove()
    },
  }
}
