/**
 * Reads the tables of requirements. Each standard has one text file:
 *
 *     OpenID Connect Core: the authorization code flow
 *     sections: https://openid.net/specs/openid-connect-core-1_0.html#rfc.section.
 *
 *     §2 SHOULD NOT: "ID Tokens SHOULD NOT use the JWS or JWE `x5u`, `x5c`, `jku`, or `jwk` Header Parameter fields."
 *       held: packages/server/src/protocol/keys/id-token.ts
 *       shown: packages/server/test/http/auth/tokens/openid.test.ts: the header of an ID token …
 *       note: how Grantor meets the requirement, if that is not obvious
 *
 *     §17.2 SHOULD: "…"
 *       not held: what Grantor does instead, and why
 *       shown: packages/server/test/http/auth/tokens/introspect.test.ts: the test that fails if the deviation ends …
 *
 * An RFC needs no line `sections`: the URL follows from its number. "MUST" includes REQUIRED and SHALL, "SHOULD" includes
 * RECOMMENDED.
 */
import { readFileSync } from 'node:fs'
import type { Level, Requirement, Standard } from './requirement.ts'

/** in the order of the page */
const TABLES = [
  'rfc6749',
  'rfc6750',
  'rfc7009',
  'rfc7591',
  'rfc7636',
  'rfc7662',
  'rfc8414',
  'rfc8628',
  'rfc8693',
  'rfc8707',
  'rfc9068',
  'rfc9126',
  'rfc9207',
  'rfc9449',
  'rfc9470',
  'rfc9700',
  'rfc9728',
  'client-id-metadata',
  'openid-connect-core',
  'openid-connect-discovery',
  'openid-connect-rp-initiated-logout',
  'openid-connect-back-channel-logout',
  'fapi-message-signing',
  'jarm',
  'oauth-form-post',
  'erc',
  'ens',
]

/** @throws Error with file and line if a table is malformed */
export function readTables(): Standard[] {
  return TABLES.map((name) => {
    const file = `tables/${name}.txt`
    return readTable(file, readFileSync(new URL(file, import.meta.url), 'utf8'))
  })
}

function readTable(file: string, text: string): Standard {
  const [head = '', ...lines] = text.split('\n')
  const [, name, title] = /^(.+?): (.+)$/.exec(head) ?? []
  if (name === undefined || title === undefined) throw new Error(`${file}:1: not "<standard>: <title>"`)
  const sections = sectionsOf(name, lines[0])
  if (sections === undefined) throw new Error(`${file}:2: not "sections: <URL of a section without its number>"`)
  const starts = lines.flatMap((line, at) => (/^(?!sections: )\S/.test(line) ? [at] : []))
  const requirements = starts.map((start, n) => readRow(file, start + 2, lines.slice(start, starts[n + 1])))
  return { name, title, sections, requirements }
}

function sectionsOf(name: string, secondLine = ''): string | undefined {
  const [, rfc] = /^RFC (\d+)$/.exec(name) ?? []
  if (rfc !== undefined) return `https://www.rfc-editor.org/rfc/rfc${rfc}#section-`
  return /^sections: (https:\S+)$/.exec(secondLine)?.[1]
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
  const [, file, title] = /^(\S+): (.+)$/.exec(fields.get('shown') ?? '') ?? []
  const [why, held] = [fields.get('not held'), fields.get('held')]
  if ((why === undefined) === (held === undefined) || file === undefined || title === undefined)
    throw new Error(`${where}: needs "held" or "not held", and "shown: <file>: <title>"`)
  const shown = { file, title }
  return held === undefined
    ? { kind: 'not_held', why: why ?? '', shown }
    : { kind: 'held', file: held, shown, note: fields.get('note') }
}
