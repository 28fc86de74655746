/** The disk without a database: what an append that must survive a power failure takes. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A page of SQLite with the head of its frame in the write-ahead log. */
const FRAME = Buffer.alloc(4096 + 24, 1)

/** Milliseconds of each append with fsync, one after the other for `seconds`, to a new file beside the file of this database. */
export function measureDisk(databaseUrl: string, seconds: number): number[] {
  const file = join(dirname(databaseUrl.slice('sqlite:'.length)), 'appends')
  const descriptor = openSync(file, 'w')
  const latencies: number[] = []
  try {
    for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
      const from = performance.now()
      writeSync(descriptor, FRAME)
      fsyncSync(descriptor)
      latencies.push(performance.now() - from)
    }
  } finally {
    closeSync(descriptor)
    rmSync(file)
  }
  return latencies
}
