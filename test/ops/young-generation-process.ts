/** A process for the tests of the young generation: works hard, is given a quiet night, works hard again. Prints its sizes in MB. */
import { setTimeout as pause } from 'node:timers/promises'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { keepYoungGeneration } from '../../src/ops/young-generation.ts'

keepYoungGeneration()
const worked = await work(32)
const later = await work(64, 1500)
setFlagsFromString('--expose-gc')
const clean = runInNewContext('gc') as (options: object) => Promise<void>
await clean({ type: 'major', execution: 'async', flavor: 'last-resort' })
const night = young()
const again = await work(32)
process.stdout.write(JSON.stringify({ worked, later, night, again }))
process.exit(0)

/** Makes what outlives a cleaning, until the young generation has a size, or for so long; its size then. */
async function work(until: number, milliseconds = 10_000): Promise<number> {
  const end = performance.now() + milliseconds
  let kept: object[] = []
  while (young() < until && performance.now() < end) {
    for (let i = 0; i < 10_000; i++) kept.push({ i, both: [i, i] })
    if (kept.length >= 100_000) kept = []
    await pause(1)
  }
  return young()
}

function young(): number {
  return (getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0) / 1024 / 1024
}
