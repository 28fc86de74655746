/** The log on standard output, written by a process of its own. */
import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'

/** A module that runs `body` with a `logger`. */
const program = (body: string) => `
  import { createLogger } from ${JSON.stringify(new URL('../../../src/observability/log/logger.ts', import.meta.url).href)}
  const logger = createLogger({ level: 'info' })
  ${body}`
const run = (body: string) => ['--input-type=module', '-e', program(body)]
const numbersIn = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { n: number }).n)
const numbersTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

test.each(['process.exit(0)', 'throw new Error("a defect")', '', 'process.emitWarning("x")'])(
  'A process that ends with "%s" has written all of its log lines, in order',
  (end) => {
    const { stdout } = spawnSync(process.execPath, run(`for (let n = 1; n <= 1000; n++) logger.info({ n })\n${end}`), {
      encoding: 'utf8',
    })
    expect(numbersIn(stdout)).toEqual(numbersTo(1000))
  },
)

test('A log line is written without a further line after it', async () => {
  const child = spawn(process.execPath, run('logger.info({ n: 1 }); setInterval(() => {}, 1000)'))
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer]
  expect(numbersIn(chunk.toString())).toEqual([1])
  child.kill('SIGKILL')
})

test.each([
  ['a file', 1],
  ['a file', 5000],
])('Every log line before a flush is in %s if the process is killed directly after the flush (%d lines)', (_what, count) => {
  const path = join(tmpdir(), `grantor-log-${randomUUID()}`)
  const body = `for (let n = 1; n <= ${count}; n++) logger.info({ n })\nlogger.child({ worker: 1 }).flush()\nprocess.kill(process.pid, 'SIGKILL')`
  spawnSync(process.execPath, run(body), { stdio: ['ignore', openSync(path, 'a'), 'inherit'] })
  expect(numbersIn(readFileSync(path, 'utf8'))).toEqual(numbersTo(count))
})

test.each(['warn', 'error', 'fatal'])(
  'A log line of level %s is in the file if the process is killed directly after it',
  (level) => {
    const path = join(tmpdir(), `grantor-log-${randomUUID()}`)
    const body = `logger.info({ n: 1 })\nlogger.${level}({ n: 2 })\nprocess.kill(process.pid, 'SIGKILL')`
    spawnSync(process.execPath, run(body), { stdio: ['ignore', openSync(path, 'a'), 'inherit'] })
    expect(numbersIn(readFileSync(path, 'utf8'))).toEqual([1, 2])
  },
)

test('The log lines of two processes that share a pipe are not mixed, even if the reader is slow', async () => {
  const writer = run("for (let n = 1; n <= 10000; n++) logger.info({ n, filler: 'x '.repeat(n % 150) })")
  const shell = spawn('sh', ['-c', '{ "$0" "$@" & "$0" "$@" & wait; } | cat', process.execPath, ...writer])
  let out = ''
  // A full pipe accepts a part of a write that is longer than PIPE_BUF.
  for await (const chunk of shell.stdout) {
    out += String(chunk)
    await pause(1)
  }
  expect(numbersIn(out).toSorted((a, b) => a - b)).toEqual(numbersTo(10_000).flatMap((n) => [n, n]))
})

test('A process keeps running if the reader of its log has closed the pipe', async () => {
  const body =
    "process.stdin.on('data', () => { logger.error('unread'); logger.info('unread'); setTimeout(() => { logger.flush(); process.stderr.write('alive'); process.exit(0) }, 100) })"
  const child = spawn(process.execPath, run(body))
  child.stdout.destroy()
  child.stdin.write('go')
  const [output] = (await once(child.stderr, 'data')) as [Buffer]
  expect(output.toString()).toBe('alive')
})

test('If the disk of its log is full, a process keeps running, and 100 MB of unwritten lines cost it less than 50 MiB of memory', () => {
  const body = `
    const before = process.memoryUsage().rss
    for (let n = 1; n <= 100000; n++) logger.info({ n, filler: 'x '.repeat(500) })
    logger.flush()
    setTimeout(() => process.stderr.write(String(process.memoryUsage().rss - before)), 50)`
  const { stderr, status } = spawnSync(process.execPath, ['--max-semi-space-size=1', ...run(body)], {
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    encoding: 'utf8',
  })
  expect(status).toBe(0)
  expect(Number(stderr)).toBeLessThan(50 * 1024 * 1024)
})

test('Log lines that could not be written are written when the disk has space again', async () => {
  const [full, path] = [openSync('/dev/full', 'w'), join(tmpdir(), `grantor-log-${randomUUID()}`)]
  // Standard output is opened again while the process runs. This stands for a disk that has space again.
  const body = `
    import { closeSync, openSync } from 'node:fs'
    logger.warn({ n: 1 })
    closeSync(1)
    openSync(${JSON.stringify(path)}, 'a')
    logger.warn({ n: 2 })
    setTimeout(() => {}, 50)`
  spawnSync(process.execPath, run(body), { stdio: ['ignore', full, 'inherit'] })
  expect(numbersIn(readFileSync(path, 'utf8'))).toEqual([1, 2])
})
