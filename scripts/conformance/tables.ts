/**
 * Reads the tables of requirements, one text file for each standard:
 *
 *     RFC 6749: The OAuth 2.0 Authorization Framework
 *
 *     §2.3 MUST NOT: A request does not use two ways of client authentication at once.
 *       held: src/domain/clients/authenticate-client.ts
 *       shown: test/http/client-authentication.test.ts: two methods at once are invalid_request …
 *       note: only where we hold to it in a way of our own
 *
 *     §3.1.1 MUST: A request without `response_type` is refused.
 *       not held: and why
 *
 * "MUST" stands for REQUIRED and SHALL too, "SHOULD" for RECOMMENDED.
 */
import { readFileSync } from 'node:fs'
import type { Level, Requirement, Standard } from './requirement.ts'

/** In the order of the page. */
const TABLES = [
  'rfc6749',
  'rfc6750',
  'rfc7009',
  'rfc7636',
  'rfc7662',
  'rfc8414',
  'rfc8693',
  'rfc8707',
  'rfc9068',
  'rfc9126',
  'rfc9207',
  'rfc9449',
  'rfc9700',
  'openid-connect-core',
  'openid-connect-discovery',
  'openid-connect-rp-initiated-logout',
  'openid-connect-back-channel-logout',
  'fapi-message-signing',
  'jarm',
  'oauth-form-post',
]

/** @throws Error naming file and line where a table is malformed */
export function readTables(): Standard[] {
  return TABLES.map((name) => {
    const file = `tables/${name}.txt`
    return readTable(file, readFileSync(new URL(file, import.meta.url), 'utf8'))
  })
}

export function readTable(file: string, text: string): Standard {
  const [head = '', ...lines] = text.split('\n')
  const [, name, title] = /^(.+?): (.+)$/.exec(head) ?? []
  if (name === undefined || title === undefined) throw new Error(`${file}:1: not "<standard>: <title>"`)
  const starts = lines.flatMap((line, at) => (/^\S/.test(line) ? [at] : []))
  const requirements = starts.map((start, n) => readRow(file, start + 2, lines.slice(start, starts[n + 1])))
  return { name, title, requirements }
}

function readRow(file: string, line: number, [head = '', ...rest]: string[]): Requirement {
  const [, section, level, words] = /^§([\dA-Z][\d.]*) ((?:MUST|SHOULD)(?: NOT)?): (\S.*)$/.exec(head) ?? []
  if (section === undefined || words === undefined) throw new Error(`${file}:${line}: not "§<section> <level>: <words>"`)

  const fields = new Map<string, string>()
  for (const [at, text] of rest.entries()) {
    if (text === '') continue
    const [, name = '', value = ''] = /^ {2}(held|shown|note|not held): (\S.*)$/.exec(text) ?? []
    if (value === '' || fields.has(name))
      throw new Error(`${file}:${line + at + 1}: not one of held, shown, note, not held, once each`)
    fields.set(name, value)
  }
  return { section, level: level as Level, words, outcome: readOutcome(fields, `${file}:${line}`) }
}

function readOutcome(fields: ReadonlyMap<string, string>, where: string): Requirement['outcome'] {
  const why = fields.get('not held')
  if (why !== undefined && fields.size === 1) return { kind: 'not_held', why }

  const held = fields.get('held')
  const [, file, title] = /^(\S+): (.+)$/.exec(fields.get('shown') ?? '') ?? []
  if (why !== undefined || held === undefined || file === undefined || title === undefined)
    throw new Error(`${where}: needs "held" and "shown: <file>: <title>", or "not held" alone`)
  return { kind: 'held', file: held, shown: { file, title }, note: fields.get('note') }
}
