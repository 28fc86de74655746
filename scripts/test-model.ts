/**
 * Verifies the models in packages/server/test/model with Spin: first each model with all rules, which must have no error; then the model without one rule,
 * which must violate the expected property. Then compares the histories of the ledger with the specification of one grant in packages/server/test/chaos/order, in the
 * same way. docs/evidence/model.md explains the models.
 *
 * `node scripts/test-model.ts WITHOUT_…` prints the shortest way to the error without this rule. `node scripts/test-model.ts USE` verifies one scene.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isExplained } from '../packages/server/test/chaos/order/search.ts'
import { operationsOfModel } from '../packages/server/test/model/histories.ts'

/** The properties, as the models name them. */
const PROPERTIES = {
  fork: 'a refresh token has at most one successor',
  redeemed_twice: 'a code gives tokens once',
  different_answer: 'a retry gets the identical answer',
  active_after_ending: 'nothing is active after an acknowledged ending',
  taken_back: 'a failover takes back nothing that was acknowledged',
  ended_without_cause: 'a grant does not end without a cause',
  acted_twice: 'an approval is used by one attempt',
  overdrawn: 'no more is used than the wallet signed',
  drawn_twice: 'a draw counts once',
  returned_twice: 'a draw is given back once',
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
  [
    ledger('CODE_IN_ONE'),
    [
      { macro: 'WITHOUT_THE_LOCK_OF_A_REDEMPTION', property: 'active_after_ending' },
      { macro: 'WITHOUT_THE_SNAPSHOT_AFTER_THE_LOCK', property: 'active_after_ending' },
    ],
  ],
  [ledger('HONEST_REDEEM_IN_ONE'), [{ macro: 'WITHOUT_THE_ATTEMPT_ID', property: 'ended_without_cause' }]],
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
  [ledger('SESSION_IN_ONE'), []],
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
  [ledger('RECEIPT_IN_ONE'), []],
  [
    ledger('USE'),
    [
      { macro: 'WITHOUT_THE_CONDITION_OF_A_USE', property: 'acted_twice' },
      { macro: 'WITHOUT_THE_ATTEMPT_OF_A_USE', property: 'acted_twice' },
      { macro: 'WITHOUT_ANSWERING_A_REPEATED_USE', property: 'different_answer' },
      { macro: 'WITHOUT_THE_USE_BEFORE_THE_GRANT', property: 'different_answer' },
      { macro: 'WITHOUT_THE_GRANT_OF_A_USE', property: 'active_after_ending' },
      { macro: 'WITHOUT_CONFIRMING_A_USE', property: 'taken_back' },
    ],
  ],
  [
    ledger('DRAW'),
    [
      { macro: 'WITHOUT_THE_LIMIT_IN_THE_UPDATE', property: 'overdrawn' },
      { macro: 'WITHOUT_THE_GRANT_IN_THE_UPDATE', property: 'active_after_ending' },
      { macro: 'WITHOUT_THE_KEY_OF_A_DRAW', property: 'drawn_twice' },
      { macro: 'WITHOUT_UNDOING_A_DUPLICATE', property: 'drawn_twice' },
      { macro: 'WITHOUT_READING_AFTER_A_DUPLICATE', property: 'different_answer' },
      { macro: 'WITHOUT_ONE_READ_OF_BOTH', property: 'different_answer' },
      { macro: 'WITHOUT_THE_STORED_VALUES', property: 'different_answer' },
      { macro: 'WITHOUT_THE_DRAW_BEFORE_THE_GRANT', property: 'different_answer' },
      { macro: 'WITHOUT_THE_DRAW_BEFORE_THE_TOKEN', property: 'different_answer' },
      { macro: 'WITHOUT_CONFIRMING_A_DRAW', property: 'taken_back' },
      { macro: 'WITHOUT_CONFIRMING_A_DRAW_THAT_WAS_READ', property: 'taken_back' },
    ],
  ],
  [
    ledger('RETURN'),
    [
      { macro: 'WITHOUT_THE_CONDITION_OF_A_RETURN', property: 'returned_twice' },
      { macro: 'WITHOUT_CONFIRMING_A_RETURN', property: 'taken_back' },
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
  [feed('PAGES'), [{ macro: 'WITHOUT_A_SCAN_AFTER_AN_INTERRUPTED_ONE', property: 'incomplete' }]],
  [
    feed('JOB'),
    [
      { macro: 'WITHOUT_THE_TIME_OF_A_PAGE', property: 'accepted_after_ending' },
      { macro: 'WITHOUT_THE_LIFETIME_OF_AN_ENTRY', property: 'accepted_after_ending' },
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

/** The specification explains every history of the scene with these limits, and not every history without one of the rules. */
type Histories = { scene: string; cancelled: 0 | 1; lost: 0 | 1; macros: readonly string[] }

/** If the wait for the standby can be cancelled, a refusal may acknowledge nothing, and is left out of the histories. */
const HISTORIES: readonly Histories[] = [
  {
    scene: 'REFRESH',
    cancelled: 0,
    lost: 1,
    macros: ['WITHOUT_THE_GENERATION_IN_THE_UPDATE', 'WITHOUT_THE_STORED_ANSWER', 'WITHOUT_ENDING_A_REPLAYED_GRANT'],
  },
  { scene: 'REFRESH', cancelled: 1, lost: 1, macros: ['WITHOUT_CONFIRMING_A_REFRESH'] },
  { scene: 'END', cancelled: 0, lost: 1, macros: [] },
  {
    scene: 'END',
    cancelled: 1,
    lost: 1,
    macros: ['WITHOUT_CONFIRMING_AN_ENDING', 'WITHOUT_THE_SERVER_OF_A_CONFIRMATION', 'WITHOUT_READING_THAT_IT_ENDED'],
  },
  { scene: 'END_MANY', cancelled: 1, lost: 1, macros: ['WITHOUT_CONFIRMING_WHAT_WAS_READ'] },
  {
    scene: 'CODE',
    cancelled: 0,
    lost: 0,
    macros: [
      'WITHOUT_THE_CONDITION_OF_A_CLAIM',
      'WITHOUT_READING_THE_EPOCH_AFTER_THE_RESERVATION',
      'WITHOUT_ENDING_RESERVED_ROWS',
    ],
  },
]

const COMPILERS = ['cc', 'gcc', 'clang', 'clang-14']
const MEGABYTES = 2000
const MINUTES = 5

type Tools = { spin: string; compiler: string }
type Result = { violated: string | null; isComplete: boolean; states: number; seconds: number }

process.exitCode = main(process.argv[2])

/** `name`: a macro or a scene. */
function main(name: string | undefined): number {
  const compiler = COMPILERS.find(isInstalled)
  if (!isInstalled('spin')) return complain('Spin is missing: apt-get install spin')
  if (compiler === undefined) return complain(`a C compiler is missing, one of ${COMPILERS.join(', ')}: apt-get install gcc`)
  const tools = { spin: 'spin', compiler }
  if (name === undefined) return verifyAll(tools)
  const models = MODELS.filter(([{ scene }]) => scene === name)
  return models.length > 0 ? report(verifyModels(tools, models)) : show(tools, name)
}

function isInstalled(program: string): boolean {
  return spawnSync(program, [program === 'spin' ? '-V' : '--version']).error === undefined
}

function complain(line: string): number {
  console.error(line)
  return 1
}

function verifyAll(tools: Tools): number {
  const failures = verifyModels(tools, MODELS) + compareHistories(tools)
  if (failures === 0)
    console.log('Every model holds, every rule is needed, and the specification of a grant explains the histories of the model.')
  return report(failures)
}

function report(failures: number): number {
  return failures === 0 ? 0 : complain(`${failures} results differ from what was expected`)
}

/** Returns the number of unexpected results. */
function verifyModels(tools: Tools, models: typeof MODELS): number {
  let failures = 0
  console.log('model, without                                                result                     states  seconds')
  for (const [model, rules] of models) {
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
  return failures
}

/** Returns the number of unexpected results. */
function compareHistories(tools: Tools): number {
  let failures = 0
  console.log('\nhistories of the model, without                               not explained            histories  seconds')
  for (const { scene, cancelled, lost, macros } of HISTORIES) {
    for (const macro of [null, ...macros]) {
      const begin = performance.now()
      const limits = [`-DCANCELLED_AT_MOST=${cancelled}`, `-DLOST_AT_MOST=${lost}`]
      const found = historiesOf(tools, scene, [...limits, ...(macro ? [`-D${macro}`] : [])])
      const unexplained = found.filter((events) => !isExplained(operationsOfModel(events, scene === 'CODE'))).length
      const isExpected = found.length > 0 && (macro ? unexplained > 0 : unexplained === 0)
      if (!isExpected) failures++
      const seconds = ((performance.now() - begin) / 1000).toFixed(1)
      const name = macro ? `  ${macro}` : `${scene}, cancelled ${cancelled}, lost ${lost}`
      console.log(`${name.padEnd(62)}${String(unexplained).padEnd(24)}${String(found.length).padStart(10)}${seconds.padStart(9)}`)
      if (!isExpected) console.error(macro ? '  expected: some that are not explained' : '  expected: all are explained')
    }
  }
  return failures
}

/** The distinct histories of all runs of the scene, in the notation of ledger.pml. */
function historiesOf({ spin, compiler }: Tools, scene: string, macros: readonly string[]): number[][] {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-model-'))
  try {
    const file = 'ledger.pml'
    copyFileSync(join(import.meta.dirname, '../packages/server/test/model', file), join(folder, file))
    run(folder, spin, ['-a', `-DSCENE_${scene}`, '-DTRACE', ...macros, file])
    run(folder, compiler, ['-w', '-O1', '-DSAFETY', '-DCOLLAPSE', '-DPRINTF', `-DMEMLIM=${MEGABYTES}`, '-o', 'pan', 'pan.c'])
    // The properties are not checked here (-A): the histories without a rule must be complete.
    const output = run(folder, './pan', ['-A', '-E', '-m100000'])
    if (!isCompleted(output)) throw new Error(`the histories of ${scene} are not complete\n${output.slice(-2000)}`)
    const lines = new Set(output.match(/^history .*$/gm))
    return [...lines].map((line) => {
      const [, count, events = ''] = /^history (\d+): (.*)$/.exec(line) ?? []
      return events.split(' ').map(Number).slice(0, Number(count))
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Prints the steps to the error without the rule, for each scene that has the rule. */
function show(tools: Tools, macro: string): number {
  const found = MODELS.flatMap(([model, rules]) => rules.filter((rule) => rule.macro === macro).map((rule) => ({ model, rule })))
  if (found.length === 0) return complain(`no rule and no scene has the name ${macro}`)
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
    copyFileSync(join(import.meta.dirname, '../packages/server/test/model', file), join(folder, file))
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
  return { violated, isComplete: isCompleted(output), states: Number(/(\d+) states, stored/.exec(output)?.[1] ?? 0) }
}

function isCompleted(output: string): boolean {
  return /errors: 0/.test(output) && !/Search not completed|max search depth too small|out of memory/.test(output)
}

/** The steps that change a value, without the copies that replication makes. */
function stepsOf(trail: string): string {
  return trail
    .split('\n')
    .filter((line) => /proc +\d+ \((?!:init:)/.test(line) && /\[\S.* = /.test(line) && !/\[db\[1\]/.test(line))
    .map((line) => line.replace(/^ *\d+:\s*proc +(\d+) \((\w+):\d+\) \S+:(\d+) \(state \d+\)\s*/, '  $2 $1, line $3: '))
    .join('\n')
}
