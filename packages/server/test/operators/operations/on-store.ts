/** Operations on a store of their own, without a server, a console or a command line. Rules of operations are tested here. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base, expect } from 'vitest'
import { localActor, serviceOn, textFactsOf } from '../../../src/app/compose/command-service.ts'
import { settingsFor } from '../../../src/app/compose/settings.ts'
import { keyKeeping } from '../../../src/app/compose/with-store.ts'
import { loadKeys } from '../../../src/domain/maintenance/keep-keys.ts'
import type { OperatorRole } from '../../../src/domain/model/records.ts'
import { ADMIN_SCOPES } from '../../../src/domain/operators/roles.ts'
import type { Members } from '../../../src/operators/members/member.ts'
import { operations } from '../../../src/operators/operations/all.ts'
import { checkInput } from '../../../src/operators/operations/check-input.ts'
import { matcher, type PageRequest, perform, type Result } from '../../../src/operators/operations/operation.ts'
import { Refusal } from '../../../src/operators/operations/refusal.ts'
import { KeyRing } from '../../../src/protocol/keys/key-ring.ts'
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/index.ts'

export const NOW = 1_800_000_000
export const SECRET = 'test-secret-that-wraps-the-keys-0123456789'
export const ADMIN_URL = 'https://admin.example.com'

/** `as` is another operator than the owner of the store. `match` is the validator of the record that the caller read. */
type Given = {
  id?: string
  input?: Members
  as?: { id: string; role: OperatorRole }
  match?: string
  key?: string
  page?: Partial<PageRequest>
}

/** With the addresses of a service, and keys. `now` may be set. */
export async function openOperations() {
  const path = join(mkdtempSync(join(tmpdir(), 'grantor-operations-')), 'grantor.sqlite')
  await migrateSqlite(path, NOW)
  const store = openSqliteStore(path)
  const clock = { now: NOW }
  const now = (): number => clock.now
  const env = {
    GRANTOR_DATABASE_URL: `sqlite:${path}`,
    GRANTOR_SECRET: SECRET,
    GRANTOR_AUTH_URL: 'https://auth.example.com',
    GRANTOR_LOGIN_URL: 'https://login.example.com',
    GRANTOR_ADMIN_URL: ADMIN_URL,
  }
  const environment = { env, now, print: () => undefined, printError: fail }
  const settings = settingsFor('keys', environment)
  const keys = { ring: new KeyRing(now), keeping: keyKeeping(settings, store, now) }
  await loadKeys(keys.keeping, keys.ring)
  const acts: Record<string, unknown>[] = []
  const onStore = serviceOn(store, now, { environment, data: undefined, settings, keys })
  const service = {
    ...onStore,
    // Read again for each call, because a test changes the resources.
    textFacts: () => textFactsOf(store, settings),
    refusedSignIns: () => ({ refusals: [], since: 0 }),
    endSession: async () => undefined,
    record: async (...[actor, act]: Parameters<typeof onStore.record>) => {
      acts.push({ ...act, operator: actor.id })
      await onStore.record(actor, act)
    },
  }
  async function call(
    operationId: string,
    { id = '', input = {}, as, match, key, ...given }: Given = {},
  ): Promise<Result<Members>> {
    const operation = operations.find((each) => each.id === operationId)
    if (!operation) throw new Error(`there is no operation ${operationId}`)
    checkInput(operation, input)
    const actor = as ? ({ ...as, kind: 'listed', scopes: ADMIN_SCOPES } as const) : localActor('cli:test')
    const page = { limit: 100, after: undefined, ...given.page }
    const result = await perform(operation, {
      service,
      actor,
      id,
      input,
      page,
      requireMatch: matcher(match),
      idempotencyKey: key,
    })
    return result as Result<Members>
  }
  return {
    store,
    clock,
    acts,
    keys,
    databasePath: path,
    call,
    output: async (...given: Parameters<typeof call>) => (await call(...given)).output,
    refused: async (...given: Parameters<typeof call>) => refusalOf(call(...given)),
    close: () => store.close(),
  }
}

function fail(line: string): never {
  throw new Error(line)
}

/** The code of a refusal, and its faults as `member: words`. */
async function refusalOf(calling: Promise<unknown>): Promise<{ code: string; message: string; faults: string[] }> {
  try {
    await calling
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { code: error.code, message: error.message, faults: error.faults.map(({ member, words }) => `${member}: ${words}`) }
  }
  throw new Error('the operation was not refused')
}

export type Operations = Awaited<ReturnType<typeof openOperations>>

// Vitest requires the pattern: it reads the names of the fixtures that a function uses from the function's text
// oxlint-disable-next-line no-empty-pattern
export const test = base.extend('operations', async ({}, { onCleanup }) => {
  const opened = await openOperations()
  onCleanup(opened.close)
  return opened
})

/** Expects a refusal of the input with one fault, at this member. */
export async function expectFault(
  { refused }: Operations,
  { operation, ...call }: { operation: string; id?: string; input: Members },
  [member, words]: readonly [member: string | null, words: string],
): Promise<void> {
  const { code, faults } = await refused(operation, call)
  expect([code, faults]).toEqual(['invalid_request', [expect.stringContaining(words)]])
  expect(faults[0]).toMatch(new RegExp(`^${member}: `))
}
