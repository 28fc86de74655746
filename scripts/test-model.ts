/**
 * Verifies the models in test/model with Spin: first each model with all rules, which must have no error; then the model without one rule,
 * which must violate the expected property. docs/evidence/model.md explains the models.
 *
 * `node scripts/test-model.ts WITHOUT_…` prints the shortest way to the error without this rule.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The properties, as the models name them. */
const PROPERTIES = {
  fork: 'a refresh token has at most one successor',
  redeemed_twice: 'a code gives tokens once',
  different_answer: 'a retry gets the identical answer',
  active_after_ending: 'nothing is active after an acknowledged ending',
  taken_back: 'a failover takes back nothing that was acknowledged',
  ended_without_cause: 'a grant does not end without a cause',
  incomplete: 'the feed has every ending that was acknowledged before `until`',
  accepted_after_ending: 'a reader accepts no ended token after the limit',
  refused_without_ending: 'a reader refuses no token that is active',
} as const
type Property = keyof typeof PROPERTIES

type Model = { file: string; scene: string }
/** Without the rule `macro`, the model must violate `property`. */
type Rule = { macro: string; property: Property }

const ledger = (scene: string): Model => ({ file: 'ledger.pml', scene })
const feed = (scene: string): Model => ({ file: 'feed.pml', scene })

const MODELS: readonly (readonly [Model, readonly Rule[]])[] = [
  [
    ledger('REFRESH'),
    [
      { macro: 'WITHOUT_THE_GENERATION_IN_THE_UPDATE', property: 'fork' },
      { macro: 'WITHOUT_THE_STORED_ANSWER', property: 'different_answer' },
      { macro: 'WITHOUT_ENDING_A_REPLAYED_GRANT', property: 'active_after_ending' },
      { macro: 'WITHOUT_CONFIRMING_A_REFRESH', property: 'taken_back' },
    ],
  ],
  [ledger('HONEST_REFRESH'), [{ macro: 'WITHOUT_THE_ATTEMPT_ID', property: 'ended_without_cause' }]],
  [
    ledger('HONEST_REDEEM'),
    [
      { macro: 'WITHOUT_THE_ATTEMPT_ID', property: 'ended_without_cause' },
      { macro: 'WITHOUT_READING_THAT_IT_WAS_CLAIMED', property: 'ended_without_cause' },
    ],
  ],
  [
    ledger('CODE'),
    [
      { macro: 'WITHOUT_THE_CONDITION_OF_A_CLAIM', property: 'redeemed_twice' },
      { macro: 'WITHOUT_CONFIRMING_A_REDEMPTION', property: 'taken_back' },
      { macro: 'WITHOUT_READING_THE_EPOCH_AFTER_THE_RESERVATION', property: 'active_after_ending' },
      { macro: 'WITHOUT_ENDING_RESERVED_ROWS', property: 'active_after_ending' },
    ],
  ],
  [ledger('RESERVED'), [{ macro: 'WITHOUT_CONFIRMING_A_RESERVED_ROW', property: 'active_after_ending' }]],
  [
    ledger('END'),
    [
      { macro: 'WITHOUT_CONFIRMING_AN_ENDING', property: 'taken_back' },
      { macro: 'WITHOUT_THE_SERVER_OF_A_CONFIRMATION', property: 'taken_back' },
      { macro: 'WITHOUT_READING_THAT_IT_ENDED', property: 'taken_back' },
    ],
  ],
  [ledger('END_MANY'), [{ macro: 'WITHOUT_CONFIRMING_WHAT_WAS_READ', property: 'taken_back' }]],
  [ledger('SESSION'), [{ macro: 'WITHOUT_THE_SESSION_OF_A_CODE', property: 'active_after_ending' }]],
  [
    ledger('RECEIPT'),
    [
      { macro: 'WITHOUT_THE_FIRST_RAISE', property: 'active_after_ending' },
      { macro: 'WITHOUT_THE_SECOND_RAISE', property: 'active_after_ending' },
      { macro: 'WITHOUT_ENDING_GRANTS_LAST', property: 'active_after_ending' },
      { macro: 'WITHOUT_THE_EPOCH_OF_A_RECEIPT', property: 'active_after_ending' },
      { macro: 'WITHOUT_THE_LOCK_OF_THE_WALLET', property: 'active_after_ending' },
      { macro: 'WITHOUT_READING_THE_EPOCH_BEFORE_THE_RECEIPT', property: 'active_after_ending' },
    ],
  ],
  [ledger('RESTORE'), [{ macro: 'WITHOUT_ENDING_WHAT_WAS_RESTORED', property: 'active_after_ending' }]],
  [
    feed('ORDER'),
    [
      { macro: 'WITHOUT_THE_HISTORY_OF_LOOKS', property: 'incomplete' },
      { macro: 'WITHOUT_THE_NEXT_ID', property: 'incomplete' },
      { macro: 'WITHOUT_THE_TIME_BEFORE_THE_ID', property: 'incomplete' },
      { macro: 'WITHOUT_THE_LOOK_BEFORE_THE_SCAN', property: 'incomplete' },
      { macro: 'WITHOUT_THE_TIME_BEFORE_THE_READ', property: 'incomplete' },
    ],
  ],
  [feed('FAILOVER'), []],
  [
    feed('READER'),
    [
      { macro: 'WITHOUT_A_NEW_RUN_AFTER_A_FAILOVER', property: 'refused_without_ending' },
      { macro: 'WITHOUT_THE_BEGINNING_OF_A_MESSAGE', property: 'accepted_after_ending' },
      { macro: 'WITHOUT_THE_AGE_OF_THE_FEED', property: 'accepted_after_ending' },
    ],
  ],
]

const COMPILERS = ['cc', 'gcc', 'clang', 'clang-14']
const MEGABYTES = 1000
const MINUTES = 5

type Tools = { spin: string; compiler: string }
type Result = { violated: string | null; isComplete: boolean; states: number; seconds: number }

process.exitCode = main(process.argv[2])

function main(macro: string | undefined): number {
  const compiler = COMPILERS.find(isInstalled)
  if (!isInstalled('spin')) return complain('Spin is missing: apt-get install spin')
  if (compiler === undefined) return complain(`a C compiler is missing, one of ${COMPILERS.join(', ')}: apt-get install gcc`)
  const tools = { spin: 'spin', compiler }
  return macro === undefined ? verifyAll(tools) : show(tools, macro)
}

function isInstalled(program: string): boolean {
  return spawnSync(program, [program === 'spin' ? '-V' : '--version']).error === undefined
}

function complain(line: string): number {
  console.error(line)
  return 1
}

function verifyAll(tools: Tools): number {
  let failures = 0
  console.log('model, without                                                result                     states  seconds')
  for (const [model, rules] of MODELS) {
    for (const rule of [null, ...rules]) {
      const { violated, isComplete, states, seconds } = verify(tools, model, rule?.macro ?? null)
      const isExpected = rule ? violated === rule.property : violated === null && isComplete
      if (!isExpected) failures++
      const found = violated ?? (isComplete ? 'no error' : 'not completed')
      const name = rule ? `  ${rule.macro}` : model.scene
      console.log(`${name.padEnd(62)}${found.padEnd(24)}${String(states).padStart(9)}${seconds.toFixed(1).padStart(9)}`)
      if (!isExpected) console.error(`  expected: ${rule ? rule.property : 'no error'}`)
    }
  }
  if (failures === 0) console.log('Every model holds, and every rule is needed.')
  return failures === 0 ? 0 : complain(`${failures} results differ from what was expected`)
}

/** Prints the steps to the error without the rule, for each scene that has the rule. */
function show(tools: Tools, macro: string): number {
  const found = MODELS.flatMap(([model, rules]) => rules.filter((rule) => rule.macro === macro).map((rule) => ({ model, rule })))
  if (found.length === 0) return complain(`no rule has the name ${macro}`)
  for (const { model, rule } of found) {
    console.log(`${model.scene} without the rule violates: ${PROPERTIES[rule.property]}`)
    verify(tools, model, macro, (steps) => console.log(steps))
  }
  return 0
}

/** With `onTrail`, also replays the error that was found. */
function verify(
  { spin, compiler }: Tools,
  { file, scene }: Model,
  macro: string | null,
  onTrail?: (steps: string) => void,
): Result {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-model-'))
  const macros = [`-DSCENE_${scene}`, ...(scene.startsWith('HONEST') ? ['-DSCENE_HONEST'] : []), ...(macro ? [`-D${macro}`] : [])]
  try {
    copyFileSync(join(import.meta.dirname, '../test/model', file), join(folder, file))
    run(folder, spin, ['-a', ...macros, file])
    // A breadth-first search finds the shortest way to an error.
    const search = macro === null ? [] : ['-DBFS']
    run(folder, compiler, ['-w', '-DSAFETY', '-DCOLLAPSE', `-DMEMLIM=${MEGABYTES}`, ...search, '-o', 'pan', 'pan.c'])
    const begin = performance.now()
    const output = run(folder, './pan', ['-E', '-m100000'])
    const seconds = (performance.now() - begin) / 1000
    onTrail?.(stepsOf(run(folder, spin, ['-t', '-p', '-g', ...macros, file])))
    return { ...resultOf(output), seconds }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function run(folder: string, program: string, args: readonly string[]): string {
  const { status, error, stdout, stderr } = spawnSync(program, args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: MINUTES * 60_000,
    maxBuffer: 100_000_000,
  })
  if (error) throw error
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`)
  return stdout
}

function resultOf(output: string): Omit<Result, 'seconds'> {
  const violated = /assertion violated +!\((\w+)\)/.exec(output)?.[1] ?? null
  const isComplete = /errors: 0/.test(output) && !/Search not completed|max search depth too small|out of memory/.test(output)
  return { violated, isComplete, states: Number(/(\d+) states, stored/.exec(output)?.[1] ?? 0) }
}

/** The steps that change a value, without the copies that replication makes. */
function stepsOf(trail: string): string {
  return trail
    .split('\n')
    .filter((line) => /proc +\d+ \((?!:init:)/.test(line) && /\[\S.* = /.test(line) && !/\[db\[1\]/.test(line))
    .map((line) => line.replace(/^ *\d+:\s*proc +(\d+) \((\w+):\d+\) \S+:(\d+) \(state \d+\)\s*/, '  $2 $1, line $3: '))
    .join('\n')
}
