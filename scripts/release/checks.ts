/** What must hold before a version is released. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../image/run.ts'
import { places, versionsIn } from './places.ts'

/** One line for each reason why this version cannot be released from this checkout. */
export function releaseFaults(checkout: string, version: string): string[] {
  const git = (...args: string[]) => run('git', args, { cwd: checkout })
  const changed = git('status', '--porcelain')
  return [
    ...(changed === '' ? [] : [`the tree has changes that are in no commit:\n${changed}`]),
    ...(git('tag', '--list', `v${version}`) === ''
      ? []
      : [`the tag v${version} exists already: choose a version with npm version`]),
    ...changelogFaults(readFileSync(join(checkout, 'CHANGELOG.md'), 'utf8'), version),
    ...places.flatMap(({ file, pattern }) => placeFaults(readFileSync(join(checkout, file), 'utf8'), { file, pattern, version })),
  ]
}

type PlaceOf = { file: string; pattern: RegExp; version: string }

function placeFaults(text: string, { file, pattern, version }: PlaceOf): string[] {
  const found = versionsIn(text, pattern)
  if (found.length === 0) return [`${file} has no version where scripts/release/places.ts expects one`]
  const others = found.filter((each) => each !== version)
  return others.length === 0 ? [] : [`${file} has the version ${others[0]}, not ${version}: run npm version`]
}

/** An entry begins with `## VERSION — unreleased`. The release replaces the last word by the date. */
export function changelogFaults(changelog: string, version: string): string[] {
  const entries = changelog.split(/^## /m).slice(1)
  const entry = entries.find((each) => each.startsWith(`${version} — `))
  if (entry === undefined) return [`CHANGELOG.md has no entry: write ## ${version} — unreleased, and what changed`]
  const [title = '', ...lines] = entry.split('\n')
  if (title !== `${version} — unreleased`) return [`CHANGELOG.md names ${version} as released: ${title}`]
  return lines.some((line) => line.startsWith('- ')) ? [] : [`the entry of ${version} in CHANGELOG.md is empty`]
}

export function withDate(changelog: string, version: string, date: string): string {
  return changelog.replace(`\n## ${version} — unreleased\n`, `\n## ${version} — ${date}\n`)
}
