/** The content of a SQLite file, read over a separate connection. */
import { existsSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export type Rows = Record<string, unknown[]>

/** Every committed row of every table. */
export function allRows(databasePath: string): Rows {
  const database = new DatabaseSync(databasePath, { readOnly: true })
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all() as {
      name: string
    }[]
    return Object.fromEntries(tables.map(({ name }) => [name, database.prepare(`SELECT * FROM "${name}" ORDER BY 1`).all()]))
  } finally {
    database.close()
  }
}

/** The bytes of the file and of SQLite's files beside it, one character for each byte. */
export function storedBytes(databasePath: string): string {
  const files = [databasePath, `${databasePath}-wal`, `${databasePath}-shm`].filter((path) => existsSync(path))
  return files.map((path) => readFileSync(path).toString('latin1')).join('\n')
}
