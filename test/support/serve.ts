/**
 * `grantor serve` with a clock that is wrong by as many seconds as the file `TEST_CLOCK_OFFSET_FILE` says at that
 * moment: the same composition, for tests that let a node's clock jump.
 */
import { readFileSync } from 'node:fs'
import { main } from '../../src/cli/main.ts'

const file = process.env.TEST_CLOCK_OFFSET_FILE

/** Read at every look at the clock, so that a jump is there at once and between any two looks. */
function offset(): number {
  return file === undefined ? 0 : Number(readFileSync(file, 'utf8'))
}

process.exitCode = await main(['serve'], {
  env: process.env,
  print: (line) => void process.stdout.write(`${line}\n`),
  printError: (line) => void process.stderr.write(`${line}\n`),
  now: () => Math.floor(Date.now() / 1000 + offset()),
})
