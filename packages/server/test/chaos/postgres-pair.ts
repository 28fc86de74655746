/**
 * A primary with a synchronous standby for one run, and their faults. A primary that was killed does not return as a primary: its data
 * is deleted, and it follows the new primary.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePorts } from '../support/free-ports.ts'
import { serverIn, startPostgres } from '../support/postgres-server.ts'
import { FOLLOWED, follow, promote } from '../support/postgres-standby.ts'
import { connect } from '../support/sql.ts'
import type { Scene, ServiceFault } from './run.ts'
import { waitForStatements } from './statements-ended.ts'

export type PostgresPair = {
  /** an empty database, at an address that names both servers */
  newDatabase(name: string): Promise<string>
  /** kill -9 of the primary, and promotion of the standby; the killed server follows the new primary a moment later */
  promoteStandby: ServiceFault
  /** kill -9 of the standby, and a start a moment later; no commit is acknowledged until then */
  killStandby: ServiceFault
  /** kill -9 of the standby for longer than any statement may take, then of the primary, and promotion of the standby */
  promoteAfterAbsence: ServiceFault
  statementsEnded(): Promise<void>
  close(): Promise<void>
}

export async function setUpPair(): Promise<PostgresPair> {
  let primary = await startPostgres(FOLLOWED)
  const { machine, remove } = primary
  const [port = 0] = await freePorts(1)
  let standby = serverIn(machine, join(machine.home, 'standby'), port)
  async function close(): Promise<void> {
    await Promise.all([primary.stop('immediate'), standby.stop('immediate')])
    await remove()
  }
  try {
    await follow(primary, standby)
  } catch (error) {
    await close()
    throw error
  }
  /** Promotes the standby of a dead primary. A moment later the dead server follows the new primary. */
  async function promoteAndFollow({ random, mark }: Pick<Scene, 'random' | 'mark'>): Promise<void> {
    await promote(standby)
    mark('the end of a promotion')
    const killed = primary
    primary = standby
    standby = killed
    await pause(random.below(500))
    await follow(primary, standby)
  }
  const hosts = [primary, standby].map((server) => `127.0.0.1:${server.port}`).join(',')

  return {
    async newDatabase(name) {
      const sql = connect(primary.urlOf('postgres'))
      await sql.unsafe(`CREATE DATABASE ${name}`)
      await sql.end()
      const own = `127.0.0.1:${primary.port}/`
      return `${primary.urlOf(name).replace(own, `${hosts}/`)}?target_session_attrs=read-write`
    },
    promoteStandby: {
      name: 'kill -9 of the primary and a promotion',
      async inject(scene) {
        await primary.stop('kill')
        scene.mark('kill -9 of the primary')
        await promoteAndFollow(scene)
      },
    },
    killStandby: {
      name: 'kill -9 of the standby',
      async inject({ random }) {
        await standby.stop('kill')
        // Shorter than the timeout of a request, so that no commit happens long after its request has failed.
        await pause(random.below(1500))
        await standby.start()
      },
    },
    promoteAfterAbsence: {
      name: 'kill -9 of the primary and a promotion, with the standby away for three seconds before',
      async inject(scene) {
        await standby.stop('kill')
        await pause(3000)
        await primary.stop('kill')
        await standby.start()
        await promoteAndFollow(scene)
      },
    },
    statementsEnded: () => waitForStatements(() => primary.urlOf('postgres')),
    close,
  }
}
