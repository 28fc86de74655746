/** Checks the histories of grants with porcupine, a general checker of linearizability in Go, if Go is installed. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Operation } from './operations.ts'
import { next, START, type State } from './specification.ts'

export type PorcupineResult = {
  ok: number
  /** histories that are not linearizable */
  illegal: Operation[][]
  /** the number of histories that porcupine did not decide in time, or that have too many states */
  undecided: number
  seconds: number
}

const PROGRAM = join(import.meta.dirname, 'porcupine')
const DOWNLOAD_WITHIN_MS = 60_000

let whyNot: string | null | undefined

/** Why porcupine cannot run on this machine; null if it can. The first call downloads the module, unless the machine has it. */
export function whyPorcupineCannotRun(): string | null {
  if (whyNot === undefined) {
    const hasGo = spawnSync('go', ['version']).status === 0
    const hasModule = hasGo && spawnSync('go', ['mod', 'download'], { cwd: PROGRAM, timeout: DOWNLOAD_WITHIN_MS }).status === 0
    whyNot = hasModule ? null : hasGo ? 'its module cannot be downloaded' : 'Go is not installed'
  }
  return whyNot
}

/** Throws if the program cannot be built. */
export async function checkWithPorcupine(histories: readonly Operation[][]): Promise<PorcupineResult> {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-porcupine-'))
  try {
    const program = join(folder, 'order')
    await run('go', ['build', '-o', program, '.'], PROGRAM)
    const begin = performance.now()
    const given = histories.flatMap((operations) => {
      const line = describe(operations)
      return line === null ? [] : [{ operations, line }]
    })
    const output = await run(program, [], folder, given.map(({ line }) => `${line}\n`).join(''))
    const results = output.trim() === '' ? [] : output.trim().split('\n')
    if (results.length !== given.length) throw new Error(`porcupine checked ${results.length} of ${given.length} histories`)
    const ok = results.filter((result) => result === 'Ok').length
    const illegal = given.filter((_, index) => results[index] === 'Illegal').map(({ operations }) => operations)
    const seconds = (performance.now() - begin) / 1000
    return { ok, illegal, undecided: histories.length - ok - illegal.length, seconds }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const MAX_STATES = 20_000

/**
 * One line: the states of the specification as numbers with the transitions of each step, and the operations with the ranks of their times.
 * Null if there are too many states.
 */
function describe(operations: readonly Operation[]): string | null {
  const steps = [...new Map(operations.map(({ step }) => [JSON.stringify(step), step]))]
  const stepNumbers = new Map(steps.map(([key], index) => [key, index]))
  const transitions = steps.map((): Record<number, number[]> => ({}))
  const states: State[] = [START]
  const stateNumbers = new Map([[JSON.stringify(START), 0]])
  const numberOf = (state: State): number => {
    const key = JSON.stringify(state)
    const number = stateNumbers.get(key) ?? states.push(state) - 1
    stateNumbers.set(key, number)
    return number
  }
  // The list grows while it is read.
  for (const [number, state] of states.entries()) {
    if (states.length > MAX_STATES) return null
    for (const [index, [, step]] of steps.entries()) {
      const after = next(state, step).map(numberOf)
      if (after.length > 0) (transitions[index] as Record<number, number[]>)[number] = after
    }
  }
  const times = [...new Set(operations.flatMap(({ begin, end }) => [begin, end]))].sort((a, b) => (a < b ? -1 : 1))
  const ranks = new Map(times.map((time, rank) => [time, rank]))
  const lines = operations.map(({ begin, end, step }) => [
    ranks.get(begin),
    ranks.get(end),
    stepNumbers.get(JSON.stringify(step)),
  ])
  return JSON.stringify({ steps: transitions, operations: lines })
}

function run(program: string, args: readonly string[], cwd: string, input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { cwd, maxBuffer: 2 ** 30 }, (error, stdout) =>
      error ? reject(new Error(`${program} failed`, { cause: error })) : resolve(stdout),
    )
    child.stdin?.end(input)
  })
}
