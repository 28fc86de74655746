/** Reading what ended, in the order of the commits: each ending is returned, and a quiet read returns nothing twice. */
import { expect, test } from 'vitest'
import type { Ending, EndingPlace } from '../../../src/domain/model/ending-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { livingGrant, NOW, type Subject } from './subject.ts'

const WITHIN = 3600

/** Reads the endings as a node does, page after page, and remembers the place. */
export function readerOf(store: Pick<Store, 'endings'>, limit = 1000) {
  let place: EndingPlace | null = null
  return async (at = NOW + 10): Promise<Ending[]> => {
    const endings: Ending[] = []
    for (;;) {
      const page = await store.endings.readEndings(place, { within: WITHIN, limit, at })
      endings.push(...page.endings)
      place = page.place
      if (!page.hasMore) return endings
    }
  }
}

/** What identifies an ending: the id of the grant, the `jti`, or the hash. */
export const nameOf = (ending: Ending): string =>
  ending.kind === 'grant' ? ending.grantId : ending.kind === 'token' ? ending.jti : `${ending.kind} ${ending.hash}`

export function endingOrderContract(subject: Subject): void {
  test('An ended grant is read with its resources and its time, by every node', async () => {
    const [store, other] = subject().nodes
    const reads = [readerOf(store), readerOf(other)]
    expect(await Promise.all(reads.map((read) => read()))).toEqual([[], []])
    const grant = await livingGrant(store)
    await livingGrant(store)
    await store.grants.endGrant(grant.id, 'revoked', NOW + 5)
    const ended = { kind: 'grant', grantId: grant.id, resources: grant.resources, at: NOW + 5 }
    expect(await Promise.all(reads.map((read) => read()))).toEqual([[ended], [ended]])
  })
}
