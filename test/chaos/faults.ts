/** What can go wrong with a node. Each fault mends what it broke, unless the run is over. */

import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type { RpcFault } from '../support/chain-rpc.ts'
import type { Fault } from './run.ts'

const JUMP_SECONDS = 600

/** kill -9 in the middle of whatever it does, and a start a moment later. */
export const killNode: Fault = {
  name: 'kill -9 of a node',
  async strike({ nodes, random }) {
    const node = random.pick(nodes)
    await node.kill()
    await pause(random.below(300))
    await node.start()
  },
}

/** A few answers are lost, or a few requests never arrive. */
export const cutConnections: Fault = {
  name: 'connections cut',
  async strike({ nodes, random }) {
    for (let count = 1 + random.below(6); count > 0; count--) {
      random.pick(nodes).proxy.cutNext(random.pick(['before', 'after']))
      await pause(random.below(30))
    }
  },
}

/** The clock of one node jumps ten minutes, either way, or comes back. */
export const jumpClock: Fault = {
  name: 'clock jump',
  async strike({ nodes, random }) {
    random.pick(nodes).setOffset(random.pick([-JUMP_SECONDS, 0, JUMP_SECONDS]))
    await Promise.resolve()
  },
}

/** An RPC of the chain of contract wallets is away, slow, or lies; both at once never tell the same lie. */
export const breakChain: Fault = {
  name: 'chain broken',
  async strike({ random, chain }) {
    const [which, faults] = random.pick([
      ['both', ['hang', 'cut', '500']],
      ['one', ['429', 'malformed', 'deny', 'lie']],
      ['other', ['hang', 'other_chain', 'deny', 'lie']],
    ] as const)
    await chain.breakFor(100 + random.below(600), which, random.pick<RpcFault>(faults))
  },
}

/** Another process, as a backup does, holds the write lock of the SQLite file: sometimes for longer than the service waits. */
export const lockFile: Fault = {
  name: 'file locked',
  async strike({ random, databaseUrl }) {
    const database = new DatabaseSync(databaseUrl.replace(/^sqlite:/, ''), { timeout: 1000 })
    try {
      database.exec('BEGIN IMMEDIATE')
      await pause(200 + random.below(2300))
    } finally {
      database.close()
    }
  },
}
