/** docs/evidence/conformance.md, from the tables. */
import type { Requirement, Standard } from './requirement.ts'

export function conformancePage(standards: readonly Standard[]): string {
  const rows = standards.flatMap(({ requirements }) => requirements)
  const notHeld = rows.filter(({ outcome }) => outcome.kind === 'not_held')
  return [
    '# Conformance',
    '',
    'For whoever audits Grantor: what each standard asks of an authorization server, in our words; the file that holds to',
    'it, whose comment names the section; and the test that shows it. MUST stands for REQUIRED and SHALL as well, SHOULD',
    'for RECOMMENDED. What a standard asks of clients, of resource servers other than Grantor’s own, or of parts that Grantor',
    'does not have (the implicit and the password grant, encrypted tokens) is not here.',
    '',
    'The page is made by `npm run conformance` from the tables in `scripts/conformance/tables`. It fails where a file, the',
    'comment in it or a test is gone, and, given the report of a test run, where a test did not pass.',
    '',
    `${rows.length} requirements of ${standards.length} standards: ${rows.length - notHeld.length} held and shown, ${notHeld.length} not held, on purpose.`,
    '',
    '| standard | requirements | not held |',
    '|---|---|---|',
    ...standards.map(summary),
    '',
    ...standards.flatMap(chapter),
  ].join('\n')
}

function summary({ name, title, requirements }: Standard): string {
  const sections = requirements.filter(({ outcome }) => outcome.kind === 'not_held').map(({ section }) => `§${section}`)
  return `| [${name}: ${title}](#${anchor(`${name}: ${title}`)}) | ${requirements.length} | ${[...new Set(sections)].join(', ')} |`
}

/** As code hosts make it of a heading. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}

function chapter({ name, title, requirements }: Standard): string[] {
  return [
    `## ${name}: ${title}`,
    '',
    '| section | level | what is asked | held in | shown by |',
    '|---|---|---|---|---|',
    ...requirements.map(row),
    '',
  ]
}

function row({ section, level, words, outcome }: Requirement): string {
  const cells = [`§${section}`, level]
  if (outcome.kind === 'not_held') return line([...cells, cell(words), '**not held**', cell(outcome.why)])
  const { file, shown, note } = outcome
  const asked = note === undefined ? cell(words) : `${cell(words)} *${cell(note)}*`
  return line([...cells, asked, `[${file.replace(/^src\//, '')}](../../${file})`, `[${cell(shown.title)}](../../${shown.file})`])
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('[', '\\[').replaceAll(']', '\\]')
}
