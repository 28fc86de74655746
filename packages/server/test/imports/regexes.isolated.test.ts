/** Every regular expression of the service takes linear time, for every text that a client can send. */
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { checkSync } from 'recheck'
import { parseAst } from 'rolldown/parseAst'
import { expect, test } from 'vitest'

type Expression = { file: string; pattern: string; flags: string }

const root = new URL('../../../../', import.meta.url)
/** Its expressions are for the service's own statements, which no client sends. */
const OWN_TEXTS = 'packages/server/src/store/citus/statements-page.ts'
const files = globSync(['packages/*/{src,demo}/**/*.{ts,js}', 'examples/**/*.ts'], {
  cwd: root.pathname,
  exclude: [OWN_TEXTS],
}).toSorted()

/** The regular expression literals of a file, and whether the file also calls `RegExp`. */
function readFile(file: string): { literals: Expression[]; callsRegExp: boolean } {
  const literals: Expression[] = []
  let callsRegExp = false
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, regex, callee } = node as { type?: string; regex?: Omit<Expression, 'file'>; callee?: { name?: string } }
    if (regex) literals.push({ file, ...regex })
    if ((type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp') callsRegExp = true
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseAst(readFileSync(new URL(file, root), 'utf8'), { lang: file.endsWith('.ts') ? 'ts' : 'js' }))
  return { literals, callsRegExp }
}

// The build in JavaScript. The others need a program for each system.
process.env.RECHECK_BACKEND = 'pure'

/**
 * Expressions that the library cannot decide, by their digest: the automaton is too large, or the library has no automaton for
 * look-around. The text is the reason why the time is linear. The digest changes with the expression.
 */
const UNDECIDED: Record<string, string> = {
  b8f3b9a1: 'fixed prefix, then one repetition of two digits',
  '838485ed': 'white space is between characters that are not white space; the other repetitions have a limit',
  '15b870a3': 'fixed prefix; the repetition with a limit contains no white space',
  b1fd4e3e: 'fixed prefix; the repetition with a limit contains no space',
  '27917e19': 'a run of hexadecimal digits has one word boundary, so a match starts once in a run',
  '7a9633f1': 'a colon is no word character, so a match starts once in a run',
  ef2a777a: 'the look-behind lets a match start once in a run',
  '0b48b728': 'a value ends at the first quote or bracket, and a match cannot start within a value',
  '540d4015': 'a name is followed by one character that no name contains; a value ends at the first space or quote',
  '76cb9367': 'each repetition ends at a character that it does not contain, and no two alternatives begin alike but for slashes',
  eb1fd958: 'as the pattern with a fragment',
  f3979334: 'each repetition stays in its line, and fixed words follow it',
}

/** Expressions of which the library finds in 1.5 to 30 seconds that their time is linear. It is not asked again until one changes. */
const DECIDED: Record<string, string> = {
  '331044f5': 'packages/create-grantor-app/src/install.ts',
  c7ca6d6c: 'packages/server/src/app/doctor/machine.ts',
  e500c5d4: 'packages/server/src/domain/audit/export.ts',
  ef44d1d3: 'packages/server/src/config/look/logo.ts',
  '2f096d8e': 'packages/server/src/observability/log/redaction.ts',
  '7e6d64e0': 'packages/server/src/store/citus/shard-statements.ts',
  '2e5dd96d': 'packages/server/src/observability/traces/open-tracing.ts',
  '5b4aae78': 'packages/server/src/protocol/wallet/message-grammar.ts',
  e2a60f7a: 'packages/server/src/protocol/wallet/read-consent.ts',
}
const LISTED = { ...UNDECIDED, ...DECIDED }
const textOf = ({ pattern, flags }: Expression) => `/${pattern}/${flags}`
const digestOf = (each: Expression) => createHash('sha256').update(textOf(each)).digest('hex').slice(0, 8)

/** The files that call `RegExp` when they are loaded. */
const MAKERS: Record<string, () => Promise<unknown>> = {
  'packages/protocol/src/http-uri.ts': () => import('@grantor/protocol/http-uri'),
  'packages/server/src/observability/log/redaction.ts': () => import('../../src/observability/log/redaction.ts'),
  'packages/server/src/protocol/wallet/message-grammar.ts': () => import('../../src/protocol/wallet/message-grammar.ts'),
  'packages/server/src/protocol/wallet/read-consent.ts': () => import('../../src/protocol/wallet/read-consent.ts'),
}

async function recordConstructed(): Promise<Expression[]> {
  const constructed: Expression[] = []
  const Original = RegExp
  let file = ''
  globalThis.RegExp = class extends Original {
    constructor(pattern: string, flags = '') {
      super(pattern, flags)
      constructed.push({ file, pattern, flags })
    }
  } as RegExpConstructor
  try {
    for (file of Object.keys(MAKERS)) await MAKERS[file]?.()
  } finally {
    globalThis.RegExp = Original
  }
  return constructed
}

/**
 * Why the expression may take more than linear time, or null. The library's other search, by random texts, is not used: it reports
 * harmless expressions too.
 */
function faultOf(each: Expression): string | null {
  const found = checkSync(each.pattern, each.flags, { checker: 'automaton', timeout: 60_000 })
  if (found.status === 'safe') return null
  const reason =
    found.status === 'vulnerable' ? found.complexity.summary : `not decided (${found.error.kind}), digest ${digestOf(each)}`
  return `${each.file} ${textOf(each)}: ${reason}`
}

test.each([
  ['exponential time', '(a+)+$'],
  ['exponential time by two alternatives', '^(a|aa)+$'],
  ['quadratic time from each start', String.raw`\s+$`],
  ['syntax that the library does not decide', 'a(?=.*b)'],
])('An expression with %s is a fault', (_, pattern) => {
  expect(faultOf({ file: 'planted.ts', pattern, flags: '' })).toContain(`planted.ts /${pattern}/`)
})

test('Every regular expression of src and examples matches in linear time', async () => {
  const read = files.map(readFile)
  const makers = files.filter((_, index) => read[index]?.callsRegExp)
  expect(makers, 'files that call RegExp').toEqual(Object.keys(MAKERS))
  const constructed = await recordConstructed()
  expect([...new Set(constructed.map(({ file }) => file))]).toEqual(makers)
  const found = [...read.flatMap(({ literals }) => literals), ...constructed]
  expect(found.length).toBeGreaterThan(100)
  const expressions = new Map(found.map((each) => [digestOf(each), each]))
  expect(
    Object.keys(LISTED).filter((digest) => !expressions.has(digest)),
    'rows of expressions that are gone',
  ).toEqual([])
  const asked = [...expressions].filter(([digest]) => !(digest in LISTED)).map(([, each]) => each)
  expect(asked.map(faultOf).filter((fault) => fault !== null)).toEqual([])
})
