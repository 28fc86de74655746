/** What a program's journal says: every change that anybody may rely on has its line, whatever happens to answers and ends. */
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { keepJournal } from '../../src/cli/journal.ts'
import { type Store, StoreUnavailable } from '../../src/grants/ports.ts'
import { livingGrant, NOW, rotationOf } from '../store/contract/subject.ts'
import { newSqlitePath, openTwoNodes } from '../store/sqlite-file.ts'

/** A program with a journal beside another on the same database. */
async function twoPrograms() {
  const [other, own] = await openTwoNodes()
  const path = `${await newSqlitePath()}.journal`
  const keeper = keepJournal({
    store: own,
    path,
    program: 'serve',
    now: () => NOW,
    failed: (error) => expect.fail(String(error)),
  })
  onTestFinished(() => keeper.end())
  const lines = () => {
    const text = readFileSync(path, 'utf8').trimEnd()
    return text.split('\n').map((line) => JSON.parse(line) as { event: string; grant_id?: string })
  }
  return { other, keeper, lines }
}

test('a grant that is found ended has its line: the store may have ended it itself, and asked again for the lost answer', async () => {
  const { other, keeper, lines } = await twoPrograms()
  const [revoked, refreshed] = [await livingGrant(other), await livingGrant(other)]
  // What the first asking did, whose answer was lost.
  for (const { id } of [revoked, refreshed]) await other.grants.endGrant(id, 'revoked', NOW)
  expect(await keeper.store.grants.endGrant(revoked.id, 'revoked', NOW)).toBe('ended_before')
  expect((await keeper.store.grants.rotateRefreshToken(rotationOf(refreshed, 0))).kind).toBe('ended')
  await keeper.end()
  expect(lines().filter(({ event }) => event === 'grant_ended')).toMatchObject([
    { grant_id: revoked.id },
    { grant_id: refreshed.id },
  ])
})

test('what a request still changes while its program ends is noted before the last line, or not done', async () => {
  const { other, keeper, lines } = await twoPrograms()
  const grants = await Promise.all(Array.from({ length: 200 }, () => livingGrant(other)))
  const first = await livingGrant(other)
  // As a request of somebody who left: its server is closed already, and it ends one grant after the other.
  const request = endEach(
    keeper.store,
    grants.map(({ id }) => id),
  )
  await keeper.store.grants.endGrant(first.id, 'revoked', NOW)
  await keeper.end()
  expect(await request).toBeInstanceOf(StoreUnavailable)
  const noted = new Set(lines().map(({ grant_id: id }) => id))
  for (const { id } of grants) expect(noted.has(id), `noted: ${id}`).toBe((await other.grants.readGrant(id))?.endedAt !== null)
  expect(lines().at(-1)?.event).toBe('closed')
})

async function endEach(store: Store, grantIds: readonly string[]): Promise<unknown> {
  try {
    for (const id of grantIds) await store.grants.endGrant(id, 'revoked', NOW)
    return null
  } catch (error) {
    return error
  }
}
