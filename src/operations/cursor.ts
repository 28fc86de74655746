/** A cursor is the sealed place of the last item of a page. */
import type { KeyRing } from '../keys/key-ring.ts'
import { type SealedFormat, sealedFormat } from '../keys/sealed.ts'
import type { Operation } from './operation.ts'
import { invalid } from './refusal.ts'

const FORMAT: SealedFormat<{ list: string; place: unknown }> = sealedFormat('adminCursor')

/** Null after the last page. */
export function cursorOf(keys: KeyRing, { subject: list }: Operation, place: unknown): string | null {
  return place === null || place === undefined ? null : FORMAT.seal(keys, { list, place })
}

/** The cursor of another list is refused. */
export function placeIn(keys: KeyRing, { subject: list }: Operation, cursor: string | undefined): unknown {
  if (cursor === undefined) return undefined
  const opened = FORMAT.open(keys, cursor)
  if (opened?.list === list) return opened.place
  throw invalid(['after is not the cursor of a page of this list.'])
}
