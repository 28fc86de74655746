/** The options of the JavaScript engine. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('The engine of this Node accepts every option that the servers set', () => {
  const run = (code: string) => spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
  const engine = JSON.stringify(new URL('../../../src/app/process/engine.ts', import.meta.url))
  expect(run(`import { limitGarbage } from ${engine}; limitGarbage()`)).toMatchObject({ status: 0, stderr: '' })
  // An unknown option is reported on standard error.
  expect(run(`import v8 from 'node:v8'; v8.setFlagsFromString('--no-such-option')`).stderr).toContain('unrecognized flag')
})
