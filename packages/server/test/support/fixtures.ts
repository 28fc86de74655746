/**
 * The fixtures that test files share. A test names the fixtures that it uses, as in `async ({ app }) => …`, and Vitest starts
 * only these. A file-scoped fixture is started once, for the first test of a file that uses it, and closed after the last test.
 *
 * A file changes or adds a fixture with `extend`: `base.extend('options', { failureLimit: 3 })` sets the options of `grantor`
 * and of all fixtures that use `grantor`. Do not use `override` outside of `describe`: it changes the fixture for every later
 * file of the same worker, because the files of a worker share their modules.
 */
import { test as base } from 'vitest'
import { signInApp } from './app.ts'
import { launchBrowser, newPage } from './browser.ts'
import { startOnChain } from './contract-login.ts'
import { createPostgresDatabase } from './postgres.ts'
import { type Grantor, type StartOptions, startGrantor, type TestClient } from './start.ts'
import { requestOf, Walk } from './walk.ts'

/** The scope of a fixture that all tests of a file share. */
export const FILE = { scope: 'file' } as const

type OnCleanup = (close: () => Promise<void>) => void

/** A fixture that uses no other fixture, and how to close it. */
export function started<T>(start: () => Promise<T>, close: (value: T) => unknown) {
  // Vitest requires the pattern: it reads the names of the fixtures that a function uses from the function's text
  // oxlint-disable-next-line no-empty-pattern
  return async ({}, { onCleanup }: { onCleanup: OnCleanup }): Promise<T> => {
    const value = await start()
    onCleanup(async () => void (await close(value)))
    return value
  }
}

/** The value of a `walk` fixture: a browser in which the first test wallet has signed in for `client`. */
export async function signIn({ grantor, client }: { grantor: Grantor; client: TestClient }): Promise<Walk> {
  const walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
  return walk
}

export const test = base
  // how `grantor` is started
  .extend('options', FILE, (): StartOptions => ({}))
  // both servers
  .extend('grantor', FILE, async ({ options }, { onCleanup }) => {
    const grantor = await startGrantor(options)
    onCleanup(() => grantor.close())
    return grantor
  })
  // a client of `grantor`, with the usual registration
  .extend('client', FILE, ({ grantor }) => grantor.createClient())
  // a client with two scopes, and a browser that is signed in for it
  .extend('app', FILE, ({ grantor }) => signInApp(grantor))
  // an empty database on PostgreSQL; `base.extend('options', ({ database }) => ({ postgres: database.address }))` starts `grantor` on it
  .extend(
    'database',
    FILE,
    started(createPostgresDatabase, (database) => database.drop()),
  )
  .extend(
    'browser',
    FILE,
    started(launchBrowser, (browser) => browser.close()),
  )
  // a page without cookies or history, for one test
  .extend('page', async ({ browser }, { onCleanup }) => {
    const page = await newPage(browser)
    onCleanup(() => page.context().close())
    return page
  })

/** `home` is the service with a chain for contract wallets; `options` are those of `startOnChain`. */
export const chainTest = test.extend('home', FILE, async ({ options }, { onCleanup }) => {
  const home = await startOnChain(options)
  onCleanup(() => home.close())
  return home
})
