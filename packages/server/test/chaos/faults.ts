/** The faults of nodes, RPCs and the SQLite file. Each fault repairs its damage before it resolves. */

import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type { RpcFault } from '../support/chain-rpc.ts'
import type { Fault, ServiceFault } from './run.ts'

const JUMP_SECONDS = 600

/** Kills a node with kill -9 at a random time, and starts it a moment later. */
export const killNode: ServiceFault = {
  name: 'kill -9 of a node',
  async inject({ nodes, random }) {
    const node = random.pick(nodes)
    await node.kill()
    await pause(random.below(300))
    await node.start()
  },
}

/** A few requests or responses are lost. */
export const cutConnections: ServiceFault = {
  name: 'one to six connections cut',
  async inject({ nodes, random }) {
    for (let count = 1 + random.below(6); count > 0; count--) {
      random.pick(nodes).proxy.cutNext(random.pick(['before', 'after']))
      await pause(random.below(30))
    }
  },
}

/** Every connection to one node is cut, also those of the feed. */
export const cutNode: ServiceFault = {
  name: 'all connections to a node cut',
  async inject({ nodes, random }) {
    random.pick(nodes).proxy.cutAll()
    await Promise.resolve()
  },
}

/** The clock of one node jumps ten minutes ahead or back, or returns to the right time. */
export const jumpClock: Fault = {
  name: 'clock jump',
  async inject({ nodes, random }) {
    random.pick(nodes).setOffset(random.pick([-JUMP_SECONDS, 0, JUMP_SECONDS]))
    await Promise.resolve()
  },
}

/** One or both RPCs of the contract wallets' chain do not respond or fail, or one of them lies. Both never lie at the same time. */
export const breakChain: Fault = {
  name: 'RPC failure',
  async inject({ random, chain }) {
    const [which, faults] = random.pick([
      ['both', ['hang', 'cut', '500']],
      ['one', ['429', 'malformed', 'deny', 'lie']],
      ['other', ['hang', 'other_chain', 'deny', 'lie']],
    ] as const)
    await chain.breakFor(100 + random.below(600), which, random.pick<RpcFault>(faults))
  },
}

/** Another process holds the write lock of the SQLite file, as a backup does, sometimes longer than the service waits. */
export const lockFile: ServiceFault = {
  name: 'file locked',
  async inject({ random, databaseUrl }) {
    const database = new DatabaseSync(databaseUrl.replace(/^sqlite:/, ''), { timeout: 0 })
    try {
      while (!isLockTaken(database)) await pause(1)
      await pause(200 + random.below(2300))
    } finally {
      database.close()
    }
  },
}

/** False if another connection holds the lock. SQLite's own wait would block this process, which also sends the requests. */
function isLockTaken(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN IMMEDIATE')
    return true
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return false
    throw error
  }
}

const SQLITE_BUSY = 5
