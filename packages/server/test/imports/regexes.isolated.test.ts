/** Every regular expression of the service takes linear time, for every text that a client can send. */
import { globSync, readFileSync } from 'node:fs'
import { parseAst } from 'rolldown/parseAst'
import { describe, expect, test } from 'vitest'
import { superlinear } from '../support/regex-ambiguity.ts'

type Expression = { file: string; pattern: string; flags: string }

const root = new URL('../../../../', import.meta.url)
const files = globSync(['packages/*/{src,demo}/**/*.{ts,js}', 'examples/**/*.ts'], { cwd: root.pathname }).toSorted()

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

/** The files that call `RegExp` when they are loaded. */
const MAKERS: Record<string, () => Promise<unknown>> = {
  'packages/protocol/src/http-uri.ts': () => import('@grantor/protocol/http-uri'),
  'packages/server/src/ops/log/redaction.ts': () => import('../../src/ops/log/redaction.ts'),
  'packages/server/src/wallet/message-grammar.ts': () => import('../../src/wallet/message-grammar.ts'),
  'packages/server/src/wallet/read-consent.ts': () => import('../../src/wallet/read-consent.ts'),
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

describe('The check of regular expressions', () => {
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
  ])('The check reports /%s/, which needs more than linear time for a hostile text', (pattern) => {
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
  ])('The check accepts /%s/, which matches in linear time', (pattern) => {
    expect(superlinear(pattern)).toBeNull()
  })

  test.each([String.raw`^(.)\1*$`, 'a(?=.*b)'])(
    'The check throws for /%s/, which has syntax that the check does not support',
    (pattern) => {
      expect(() => superlinear(pattern)).toThrow(SyntaxError)
    },
  )
})

test('Every regular expression of src and examples matches in linear time', async () => {
  const read = files.map(readFile)
  const makers = files.filter((_, index) => read[index]?.callsRegExp)
  expect(makers, 'files that call RegExp').toEqual(Object.keys(MAKERS))
  const constructed = await recordConstructed()
  expect([...new Set(constructed.map(({ file }) => file))]).toEqual(makers)
  const expressions = [...read.flatMap(({ literals }) => literals), ...constructed]
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
