/** The readers of this process. Checks of the same issuer, resource and client share one reader, and so one connection. */
import { FeedReader, type FeedSource } from './reader.ts'

const shared: { source: FeedSource; reader: FeedReader; uses: number }[] = []

export type SharedReader = { reader: FeedReader /** The last release closes the reader. */; release: () => void }

export function shareReader(source: FeedSource): SharedReader {
  let entry = shared.find((each) => isSame(each.source, source))
  if (!entry) shared.push((entry = { source, reader: new FeedReader(source), uses: 0 }))
  const { reader } = entry
  entry.uses++
  let isReleased = false
  function release(): void {
    if (isReleased || !entry) return
    isReleased = true
    entry.uses--
    if (entry.uses > 0) return
    shared.splice(shared.indexOf(entry), 1)
    reader.close()
  }
  return { reader, release }
}

function isSame(some: FeedSource, other: FeedSource): boolean {
  return (
    some.issuer === other.issuer &&
    some.audience === other.audience &&
    some.authorization === other.authorization &&
    some.ask === other.ask
  )
}
