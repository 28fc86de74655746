/** The built package, for measurements that call its modules. */
import { join } from 'node:path'

export const CHECKOUT = join(import.meta.dirname, '..')
/** The package of the server, which has a `dist` after `npm run build`. */
const PACKAGE = join(CHECKOUT, 'packages/server')

/** A module of the built package, such as `store/sqlite/index.js`. `home` is the folder of the package. */
export function importBuilt(path: string, home = PACKAGE): Promise<unknown> {
  // oxlint-disable-next-line no-dynamic-require -- the modules of another build, whose folder is an argument
  return import(join(home, 'dist/src', path))
}

/** The built `@grantor/resource` beside the package in the folder `home`. */
export function importResource(home: string): Promise<unknown> {
  // oxlint-disable-next-line no-dynamic-require -- the modules of another build, whose folder is an argument
  return import(join(home, 'node_modules/@grantor/resource/dist/index.js'))
}

/** What the bench uses of a store beside its own interface. */
export type BuiltStore = { close(): Promise<void> }

/** Opens a database with the built package. */
export async function openBuiltStore(url: string, home = PACKAGE): Promise<BuiltStore> {
  if (url.startsWith('sqlite:')) {
    const { openSqliteStore } = (await importBuilt('store/sqlite/index.js', home)) as {
      openSqliteStore(path: string): BuiltStore
    }
    return openSqliteStore(url.slice('sqlite:'.length))
  }
  const { openPostgresStore } = (await importBuilt('store/postgres/index.js', home)) as {
    openPostgresStore(address: unknown, options: { loadPlacement: () => Promise<unknown> }): Promise<BuiltStore>
  }
  const { databaseUrl } = (await importBuilt('config/database-url.js', home)) as { databaseUrl(text: string): { value: unknown } }
  const loadPlacement = async () => ((await importBuilt('store/citus/index.js', home)) as { citus: unknown }).citus
  return openPostgresStore(databaseUrl(url).value, { loadPlacement })
}
