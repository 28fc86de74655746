/**
 * `grantor serve` with a wrong clock: the file that `TEST_CLOCK_OFFSET_FILE` names has the offset in seconds. Everything else is as in
 * `grantor serve`. For tests in which the clock of a node jumps.
 */
import { readFileSync } from 'node:fs'
import { main } from '../../src/app/main.ts'

const file = process.env.TEST_CLOCK_OFFSET_FILE

/** Read each time the clock is read, so that a jump takes effect at once. */
function offset(): number {
  return file === undefined ? 0 : Number(readFileSync(file, 'utf8'))
}

process.exitCode = await main(['serve'], {
  env: process.env,
  print: (line) => void process.stdout.write(`${line}\n`),
  printError: (line) => void process.stderr.write(`${line}\n`),
  now: () => Math.floor(Date.now() / 1000 + offset()),
})
