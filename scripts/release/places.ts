/** The places in which the version of package.json is repeated. `npm version` writes all of these places, and a test compares them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const NUMBER = String.raw`(\d+\.\d+\.\d+(?:-[a-z]+\.\d+)?)`

const PACKAGES = ['protocol', 'resource', 'connect', 'testing', 'create-grantor-app', 'walletconnect', 'server']
const DEPENDENCY = String.raw`"(?:@grantor/[a-z]+|grantor)": "${NUMBER}"`
const OWN = String.raw`"(?:version|@grantor/[a-z]+|grantor)": "${NUMBER}"`
/** The entry of a package in the lock file, up to its version. */
const LOCKED = String.raw`"(?:packages/[a-z-]+|bench)": \{\s*(?:"name": "[^"]+",\s*)?"version": "${NUMBER}"`

/** The pattern of a place has the version as its only group. */
export const places: readonly { file: string; pattern: RegExp }[] = [
  ...[...PACKAGES.map((name) => `packages/${name}`), 'bench'].map((folder) => ({
    file: `${folder}/package.json`,
    pattern: new RegExp(OWN, 'g'),
  })),
  ...[DEPENDENCY, LOCKED].map((pattern) => ({ file: 'package-lock.json', pattern: new RegExp(pattern, 'g') })),
  { file: 'ops/helm/grantor/Chart.yaml', pattern: new RegExp(`^(?:version|appVersion): ${NUMBER}$`, 'gm') },
  { file: 'ops/helm/grantor/values-sqlite.yaml', pattern: new RegExp(`^ {2}tag: ${NUMBER}$`, 'gm') },
  { file: 'ops/helm/grantor/values-postgresql.yaml', pattern: new RegExp(`^ {2}tag: ${NUMBER}$`, 'gm') },
  { file: 'docs/operating/install.md', pattern: new RegExp(`\\bgrantor[-:]${NUMBER}`, 'g') },
  { file: 'docs/guides/testing.md', pattern: new RegExp(`\\bgrantor:${NUMBER}`, 'g') },
  { file: 'docs/operating/walletconnect.md', pattern: new RegExp(`@grantor/walletconnect@${NUMBER}`, 'g') },
]

/** The versions in a file, in their order. */
export function versionsIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, version = '']) => version)
}

export function writeVersion(checkout: string, version: string): void {
  for (const { file, pattern } of places) {
    const path = join(checkout, file)
    const text = readFileSync(path, 'utf8')
    writeFileSync(
      path,
      text.replace(
        pattern,
        (found, before: string) =>
          found.slice(0, found.lastIndexOf(before)) + found.slice(found.lastIndexOf(before)).replace(before, version),
      ),
    )
  }
}

// `npm version` calls this program after it has changed package.json.
if (import.meta.main) {
  const checkout = join(import.meta.dirname, '../..')
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
  writeVersion(checkout, version)
}
