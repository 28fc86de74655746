/** No regular expression of the service takes more than linear time, whatever text a caller sends. */
import { globSync, readFileSync } from 'node:fs'
import { parseAst } from 'rolldown/parseAst'
import { describe, expect, test } from 'vitest'
import { superlinear } from '../support/regex-ambiguity.ts'

type Expression = { file: string; pattern: string; flags: string }

const root = new URL('../../', import.meta.url)
const files = globSync(['src/**/*.{ts,js}', 'examples/**/*.ts'], { cwd: root.pathname }).toSorted()

/** The regular expressions written in a file, and whether the file makes others from texts. */
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

/** The files that make expressions from texts when they are loaded. */
const MAKERS: Record<string, () => Promise<unknown>> = {
  'src/oauth/http-uri.ts': () => import('../../src/oauth/http-uri.ts'),
  'src/ops/redaction.ts': () => import('../../src/ops/redaction.ts'),
  'src/wallet/message-grammar.ts': () => import('../../src/wallet/message-grammar.ts'),
  'src/wallet/read-consent.ts': () => import('../../src/wallet/read-consent.ts'),
}

async function recordMade(): Promise<Expression[]> {
  const made: Expression[] = []
  const Original = RegExp
  let file = ''
  globalThis.RegExp = class extends Original {
    constructor(pattern: string, flags = '') {
      super(pattern, flags)
      made.push({ file, pattern, flags })
    }
  } as RegExpConstructor
  try {
    for (file of Object.keys(MAKERS)) await MAKERS[file]?.()
  } finally {
    globalThis.RegExp = Original
  }
  return made
}

describe('the check itself', () => {
  test.each([
    String.raw`\s*;\s*`,
    String.raw`\s+$`,
    '=+$',
    '^(a+)+$',
    '^(a|a)*$',
    '^(a|aa)+$',
    '^(a*)*b',
    '^(?:a?b?)*$',
    '^(a{1,9}a{1,9})+$',
    '^.*.*=x',
    'a*b*c',
    '(x*y*)*z',
    String.raw`(\d+)\.(\d+)$`,
    String.raw`^\w+@(?:\w+\.?)+$`,
  ])('reports /%s/, which a hostile text makes slow', (pattern) => {
    expect(superlinear(pattern)).not.toBeNull()
  })

  test.each([
    '^a+$',
    '[^A-Za-z]+',
    '%([0-9A-Fa-f]{2})',
    '^(bearer|dpop) +([A-Za-z0-9]+=*)$',
    String.raw`^[^:]+:\/\/[^/?]*@`,
    '^(?:/(?:[a-z]|%[0-9])*)*$',
    String.raw`\beyJ[\w-]+(?:\.[\w-]*)*`,
  ])('passes /%s/, which reads each text in one way', (pattern) => {
    expect(superlinear(pattern)).toBeNull()
  })

  test.each([String.raw`^(.)\1*$`, 'a(?=.*b)'])('refuses /%s/, which it does not understand', (pattern) => {
    expect(() => superlinear(pattern)).toThrow(SyntaxError)
  })
})

test('every regular expression of src and examples matches in linear time', async () => {
  const read = files.map(readFile)
  const makers = files.filter((_, index) => read[index]?.callsRegExp)
  expect(makers, 'files that make expressions from texts').toEqual(Object.keys(MAKERS))
  const made = await recordMade()
  expect([...new Set(made.map(({ file }) => file))]).toEqual(makers)
  const expressions = [...read.flatMap(({ literals }) => literals), ...made]
  expect(expressions.length).toBeGreaterThan(100)
  expect(expressions.map(faultOf).filter((fault) => fault !== null)).toEqual([])
})

function faultOf({ file, pattern, flags }: Expression): string | null {
  const reason = reasonOf(pattern, flags)
  return reason === null ? null : `${file} /${pattern}/${flags}: ${reason}`
}

function reasonOf(pattern: string, flags: string): string | null {
  try {
    return superlinear(pattern, flags)
  } catch (error) {
    return (error as Error).message
  }
}
