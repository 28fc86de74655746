/** Prints findings, for people and as JSON. */
import type { Finding, Verdict } from './check.ts'

const MARKS = { ok: 'ok', warning: 'WARNING', wrong: 'WRONG', unchecked: 'UNKNOWN' } as const satisfies Record<Verdict, string>
const NAME_WIDTH = 15
const MARK_WIDTH = 9

export function findingLines({ check, verdict, found, remedy }: Finding): string[] {
  const head = `${MARKS[verdict].padEnd(MARK_WIDTH)}${check.padEnd(NAME_WIDTH)}${found}`
  return remedy === null ? [head] : [head, `${' '.repeat(MARK_WIDTH + NAME_WIDTH)}${remedy}`]
}

export function summaryLine(findings: readonly Finding[]): string {
  const count = (verdict: Verdict) => findings.filter((each) => each.verdict === verdict).length
  return `${count('wrong')} wrong, ${count('warning')} warnings, ${count('unchecked')} not checked, ${count('ok')} ok.`
}
