/** A cursor is the sealed place of the last item of a page. */
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import { type SealedFormat, sealedFormat } from '../../protocol/keys/sealed.ts'
import type { Listed, Operation } from './operation.ts'
import { invalid } from './refusal.ts'

const FORMAT: SealedFormat<{ list: string; place: unknown }> = sealedFormat('adminCursor')

/** Null after the last page. */
function cursorOf(keys: KeyRing, { subject: list }: Operation, place: unknown): string | null {
  return place === null || place === undefined ? null : FORMAT.seal(keys, { list, place })
}

/** The cursors of a page in both directions. */
export function cursorsOf(keys: KeyRing, operation: Operation, { next, previous }: Pick<Listed, 'next' | 'previous'>) {
  return {
    next: cursorOf(keys, operation, next),
    ...(previous !== undefined && { previous: cursorOf(keys, operation, previous) }),
  }
}

/** The places of a request for a page. */
export function placesIn(keys: KeyRing, operation: Operation, { after, before }: { after?: string; before?: string }) {
  if (after !== undefined && before !== undefined)
    throw invalid([{ member: 'before', words: 'after and before are both given: keep one.' }])
  return { after: placeIn(keys, operation, after), before: placeIn(keys, operation, before) }
}

/** The cursor of another list is refused. */
function placeIn(keys: KeyRing, { subject: list }: Operation, cursor: string | undefined): unknown {
  if (cursor === undefined) return undefined
  const opened = FORMAT.open(keys, cursor)
  if (opened?.list === list) return opened.place
  throw invalid([{ member: 'after', words: 'after is not the cursor of a page of this list.' }])
}
