/**
 * A primary with a synchronous standby, of a run's own, and what can go wrong with them. A primary that was killed never
 * comes back as one: its data is thrown away, and it follows the one that took over.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { freePorts } from '../support/free-ports.ts'
import { serverIn, startPostgres } from '../support/postgres-server.ts'
import { FOLLOWED, follow, promote } from '../support/postgres-standby.ts'
import type { Fault, Scene } from './run.ts'

export type PostgresPair = {
  /** an empty database, at an address that names both servers */
  newDatabase(name: string): Promise<string>
  /** kill -9 of the primary, and the standby takes over; the killed one follows it a moment later */
  promoteStandby: Fault
  /** kill -9 of the standby, and a start a moment later: no commit is acknowledged meanwhile */
  killStandby: Fault
  /** the standby is gone for longer than any statement may take, then so is the primary, and the standby takes over */
  promoteAfterAbsence: Fault
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
  /** The standby takes over from a primary that is dead, and a moment later that one follows it. */
  async function takeOver({ random, mark }: Scene): Promise<void> {
    await promote(standby)
    mark('a promotion')
    const killed = primary
    primary = standby
    standby = killed
    await pause(random.below(500))
    await follow(primary, standby)
  }
  const hosts = [primary, standby].map((server) => `127.0.0.1:${server.port}`).join(',')

  return {
    async newDatabase(name) {
      const sql = postgres(primary.urlOf('postgres'), { max: 1, fetch_types: false })
      await sql.unsafe(`CREATE DATABASE ${name}`)
      await sql.end()
      const own = `127.0.0.1:${primary.port}/`
      return `${primary.urlOf(name).replace(own, `${hosts}/`)}?target_session_attrs=read-write`
    },
    promoteStandby: {
      name: 'kill -9 of the primary, standby promoted',
      async strike(scene) {
        await primary.stop('kill')
        scene.mark('the death of the primary')
        await takeOver(scene)
      },
    },
    killStandby: {
      name: 'kill -9 of the standby',
      async strike({ random }) {
        await standby.stop('kill')
        // Shorter than a request is tried for, so that no commit comes long after its request was given up.
        await pause(random.below(1500))
        await standby.start()
      },
    },
    promoteAfterAbsence: {
      name: 'both killed one after the other, standby promoted',
      async strike(scene) {
        await standby.stop('kill')
        await pause(3000)
        await primary.stop('kill')
        await standby.start()
        await takeOver(scene)
      },
    },
    close,
  }
}
