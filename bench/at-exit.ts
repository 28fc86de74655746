/** What has to be undone however this process ends: servers it started, folders it made. */

const undoings = new Set<() => void>()
let watching = false

/** Returns what takes it back. */
export function atExit(undo: () => void): () => void {
  if (!watching) watch()
  undoings.add(undo)
  return () => void undoings.delete(undo)
}

function watch(): void {
  watching = true
  process.once('exit', () => {
    // The latest first: a server, and then the folder it writes into.
    for (const undo of [...undoings].toReversed()) undo()
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
}
