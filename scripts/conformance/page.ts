/** The page of conformance, from the tables. */
import { readFileSync } from 'node:fs'
import { lineOfCitation } from './citations.ts'
import type { Requirement, Standard } from './requirement.ts'

const root = new URL('../../', import.meta.url)

export function conformancePage(standards: readonly Standard[]): string {
  const rows = standards.flatMap(({ requirements }) => requirements)
  const notHeld = rows.filter(({ outcome }) => outcome.kind === 'not_held')
  return [
    '# Conformance',
    '',
    'This page is for auditors. It lists the requirements that OAuth 2.0 and OpenID Connect place on an authorization server, those of',
    'ERC-4361 on a service to which a wallet signs in, and those of ENS on software that shows names.',
    'Each row has the requirement with a link to its section, the file that implements it, and the test that shows it. A link to a',
    'source file leads to the comment that cites the section.',
    '',
    'Text in quotation marks is quoted from the standard. "…" marks an omission, and words in brackets are ours. Parameter names',
    'are in `code font`, whatever the standard uses. Text without quotation marks retells the standard. Text in italics says how',
    'Grantor meets the requirement, or what Grantor does instead. MUST includes REQUIRED and SHALL, and SHOULD includes RECOMMENDED.',
    '',
    'Three kinds of requirements are left out: requirements for clients, requirements for resource servers other than Grantor’s',
    'own, and requirements for features that Grantor does not have (the implicit grant, the password grant, encrypted tokens).',
    '',
    'This page is generated from the tables in `scripts/conformance/tables`. `npm run conformance` fails if a file, its comment or a',
    'test is missing. With the report of a test run, the command also fails if a test did not pass.',
    '',
    `The page has ${rows.length} requirements of ${standards.length} standards. Grantor meets ${rows.length - notHeld.length}. It deviates from ${notHeld.length} on purpose; each of these rows gives the reason.`,
    '',
    '| standard | requirements | not met |',
    '|---|---|---|',
    ...standards.map(summary),
    '',
    ...standards.flatMap(chapter),
  ].join('\n')
}

function summary({ name, title, sections, requirements }: Standard): string {
  const notHeld = requirements.filter(({ outcome }) => outcome.kind === 'not_held').map(({ section }) => section)
  const links = [...new Set(notHeld)].map((section) => sectionLink(sections, section))
  return `| [${name}: ${title}](#${anchor(`${name}: ${title}`)}) | ${requirements.length} | ${links.join(', ')} |`
}

/** The anchor that GitHub and other code hosts derive from a heading. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}

function chapter(standard: Standard): string[] {
  const { name, title, requirements } = standard
  return [
    `## ${name}: ${title}`,
    '',
    '| section | level | requirement | implemented in | shown by |',
    '|---|---|---|---|---|',
    ...requirements.map((requirement) => row(standard, requirement)),
    '',
  ]
}

function row({ name, sections }: Standard, { section, level, words, outcome }: Requirement): string {
  const cells = [sectionLink(sections, section), level]
  const { shown } = outcome
  const test = `[${cell(shown.title)}](../../${shown.file})`
  if (outcome.kind === 'not_held') return line([...cells, `${cell(words)} *${cell(outcome.why)}*`, '**not met**', test])
  const { file, note } = outcome
  const requirement = note === undefined ? cell(words) : `${cell(words)} *${cell(note)}*`
  return line([...cells, requirement, fileLink(file, `${name} §${section}`), test])
}

function sectionLink(sections: string, section: string): string {
  return `[§${section}](${sections}${section})`
}

function fileLink(file: string, section: string): string {
  const at = file.endsWith('.md') ? undefined : lineOfCitation(readFileSync(new URL(file, root), 'utf8'), section)
  return `[${file.replace(/^packages\/(server\/src\/)?/, '')}](../../${file}${at === undefined ? '' : `#L${at}`})`
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('[', '\\[').replaceAll(']', '\\]')
}
