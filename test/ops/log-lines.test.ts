import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { IN_ONE_WRITE, logLines } from '../../src/ops/log-lines.ts'

function captured() {
  const writes: string[] = []
  return { writes, lines: logLines({ write: (text) => writes.push(text) }) }
}

test('lines that may wait are written together, soon and in order', async () => {
  const { writes, lines } = captured()
  lines.writeSoon('a\n')
  lines.writeSoon('b\n')
  expect(writes).toEqual([])
  await expect.poll(() => writes).toEqual(['a\nb\n'])
})

test('a line that may not wait is written before anything else happens, behind those that waited', async () => {
  const { writes, lines } = captured()
  lines.writeSoon('a\n')
  lines.write('b\n')
  expect(writes).toEqual(['a\nb\n'])
  lines.writeSoon('c\n')
  await expect.poll(() => writes).toEqual(['a\nb\n', 'c\n'])
})

test('no more than so much waits, however many lines there are', () => {
  const { writes, lines } = captured()
  for (let i = 0; i < 2000; i++) lines.writeSoon(`${'x'.repeat(99)}\n`)
  expect(writes.join('').length).toBeGreaterThan(130_000)
})

test.each([
  ['a pipe', IN_ONE_WRITE.pipe],
  ['a file', IN_ONE_WRITE.file],
])('into %s go no more characters at once than stay in one piece, and not many fewer', (_what, atMost) => {
  const writes: string[] = []
  const lines = logLines({ write: (text) => writes.push(text) }, atMost)
  for (let i = 0; i < 2000; i++) lines.writeSoon(`${'x'.repeat(99)}\n`)
  expect(writes.length).toBeGreaterThan(5)
  for (const { length } of writes) {
    expect(length).toBeLessThanOrEqual(atMost)
    expect(length).toBeGreaterThan(atMost - 200)
  }
})

test('a process that exits, by itself or by a defect, leaves no line behind', () => {
  for (const end of ['process.exit(0)', 'throw new Error("a defect")']) {
    const script = `
      import { createLogger } from ${JSON.stringify(new URL('../../src/ops/logger.ts', import.meta.url).href)}
      import { linesOf } from ${JSON.stringify(new URL('../../src/ops/logger.ts', import.meta.url).href)}
      const logger = createLogger({ level: 'info' })
      linesOf(logger).writeSoon('{"n":1}\\n')
      logger.info({ n: 2 })
      linesOf(logger).writeSoon('{"n":3}\\n')
      ${end}`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
    const numbers = stdout.split('\n').filter(Boolean)
    expect(numbers.map((line) => (JSON.parse(line) as { n: number }).n)).toEqual([1, 2, 3])
  }
})
