/** The store of the settings: opened for a server or for one command, with the clock that belongs to it. */
import type { Settings } from '../../config/settings.ts'
import { type KeyKeeping, WrongKeyEncryptionKey } from '../../domain/maintenance/keep-keys.ts'
import type { Store } from '../../domain/model/store.ts'
import { createStoreClock, type StoreClock } from '../../domain/model/store-clock.ts'
import { SchemaMismatch, StoreUnavailable } from '../../domain/model/store-errors.ts'
import { type CommandEnvironment, CommandError } from '../../operators/terminal/command.ts'
import type { OpenedStore } from '../../store/cluster-health.ts'
import { openDatabase } from './database.ts'
import { keySettings } from './service-settings.ts'

type DatabaseSettings = Pick<Settings<'migrate'>, 'databaseUrl'>

/** Opens the store. `now` is the store's time, if the store has a clock; `clock` is the same with a fraction. A database that cannot be used becomes one line with the remedy. */
export async function openStore(
  { databaseUrl }: DatabaseSettings,
  own: () => number,
): Promise<{ store: OpenedStore; now: () => number; clock: () => number }> {
  const clock: StoreClock = createStoreClock(own, () => performance.now() / 1000)
  try {
    const store = await openDatabase(databaseUrl, clock)
    return { store, now: clock.now, clock: () => clock.exact() ?? withFraction(own()) }
  } catch (error) {
    throw openFailure(error)
  }
}

/** Whole seconds of this machine's clock, with their fraction. The clock of a test has none. */
function withFraction(seconds: number): number {
  const machine = Date.now() / 1000
  // The second may have changed between the two reads.
  return machine >= seconds && machine < seconds + 2 ? machine : seconds
}

/** For a command: opens the store, uses it with the store's time, and closes it, also after an error. */
export async function withStore<Result>(
  settings: DatabaseSettings,
  environment: Pick<CommandEnvironment, 'now'>,
  use: (store: OpenedStore, now: () => number) => Promise<Result>,
): Promise<Result> {
  const { store, now } = await openStore(settings, () => environment.now())
  try {
    // Reading the revision also synchronises the clock with the store's clock, if the store has one.
    await store.readRevision()
    return await use(store, now)
  } catch (error) {
    throw openFailure(error)
  } finally {
    await store.close()
  }
}

/** How keys are kept, from the settings of the program that keeps them. */
export function keyKeeping(settings: Settings<'keys'>, store: Pick<Store, 'keys'>, now: () => number): KeyKeeping {
  return { ...keySettings(settings), store: store.keys, now }
}

/** Whether this program cannot work on the database, whatever `grantor migrate` does. */
export function isSchemaMismatch(error: unknown): error is SchemaMismatch {
  return error instanceof SchemaMismatch
}

/** Turns an error that the operator can correct into one line; returns any other error unchanged. */
export function openFailure(error: unknown): unknown {
  if (error instanceof SchemaMismatch) return new CommandError(error.message)
  if (error instanceof WrongKeyEncryptionKey)
    return new CommandError(
      'the keys in this database were made with another GRANTOR_SECRET; set that secret, or name it in GRANTOR_SECRET_PREVIOUS',
    )
  if (error instanceof StoreUnavailable)
    return new CommandError(
      `the database cannot be used: ${error.message}; check GRANTOR_DATABASE_URL, and the rights of this user`,
    )
  return error
}
