/** Ends the servers and removes the folders of this process, however the process ends. */

const undoings = new Set<() => void>()
let watching = false

/** Returns a function that cancels the registration. */
export function atExit(undo: () => void): () => void {
  if (!watching) watch()
  undoings.add(undo)
  return () => void undoings.delete(undo)
}

function watch(): void {
  watching = true
  process.once('exit', () => {
    // The newest first: a server ends before its folder is removed.
    for (const undo of [...undoings].toReversed()) undo()
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
}
