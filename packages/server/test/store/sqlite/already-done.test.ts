/** An outcome that was found already done, on SQLite: the commit that it was found in is durable. */
import { spawnSync } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { SqliteConnection } from '../../../src/store/sqlite/connection.ts'
import { createGrantStore } from '../../../src/store/sqlite/grants.ts'
import { livingGrant, NOW } from '../contract/subject.ts'
import { newSqlitePath, openTwoNodes } from '../sqlite-file.ts'

test('If two endings of one grant share a commit that fails, both fail, also the one that found the grant ended', async () => {
  const path = await newSqlitePath()
  const [store] = await openTwoNodes(path)
  const { id } = await livingGrant(store)
  const connection = new SqliteConnection(path)
  onTestFinished(() => connection.close())
  const grants = createGrantStore(connection)
  // COMMIT detects a violated deferred constraint.
  connection.execute('PRAGMA foreign_keys = ON')
  connection.execute('CREATE TABLE answers (id TEXT REFERENCES grants (id) DEFERRABLE INITIALLY DEFERRED) STRICT')
  const answer = connection.prepareWrite('INSERT INTO answers VALUES (?)')
  const outcomes = await Promise.allSettled([
    grants.endGrant(id, 'revoked', NOW),
    grants.endGrant(id, 'revoked', NOW),
    connection.write(() => answer.run('nowhere')),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(await store.grants.readGrant(id)).toMatchObject({ endedAt: null })
  expect(await grants.endGrant(id, 'revoked', NOW)).toBe('ended')
})

/** What a process does that ends a grant, after it opened a file that a killed process left. */
const END = `
  const { openSqliteStore } = await import('${import.meta.resolve('../../../src/store/sqlite/index.ts')}')
  const store = openSqliteStore(process.argv[1])
  process.stdout.write(await store.grants.endGrant(process.argv[2], 'revoked', ${NOW}))
  process.kill(process.pid, 'SIGKILL')`

// A process that is killed between the write and the sync of a commit leaves a commit that SQLite reads again, and does not sync.
test.skipIf(spawnSync('strace', ['--version']).status !== 0)(
  'A process syncs the log that a killed process left, before it acknowledges an ending that it found in the log',
  async () => {
    const path = await newSqlitePath()
    const [store, other] = await openTwoNodes(path)
    const { id } = await livingGrant(store)
    await Promise.all([store.close(), other.close()])
    const node = [process.execPath, '--input-type=module', '--eval', END, path, id] as const
    expect(spawnSync(node[0], node.slice(1)).stdout.toString()).toBe('ended')
    const traced = spawnSync('strace', ['-f', '-y', '-e', 'trace=fsync,fdatasync,write', ...node])
    expect(traced.stdout.toString()).toBe('ended_before')
    const calls = traced.stderr.toString().split('\n')
    const synced = calls.findIndex((line) => /f(data)?sync\(\d+<[^>]*-wal>/.test(line))
    const acknowledged = calls.findIndex((line) => line.includes('"ended_before"'))
    expect(acknowledged).toBeGreaterThan(0)
    expect(synced, 'the log is synced first').toBeGreaterThanOrEqual(0)
    expect(synced).toBeLessThan(acknowledged)
  },
)
