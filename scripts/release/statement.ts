/** How the files of a release were made: an in-toto statement with the provenance of SLSA 1.0. The statement itself is not signed. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type Source = { version: string; commit: string; lock: string; node: string; npm: string }

export function sha256Of(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** The files of a folder with their SHA-256, sorted by name. */
function digestsOf(folder: string): [name: string, digest: string][] {
  const names = readdirSync(folder).toSorted((a, b) => (a < b ? -1 : 1))
  return names.map((name) => [name, sha256Of(readFileSync(join(folder, name)))])
}

/** As `sha256sum` writes and checks it. */
export function sumsOf(folder: string): string {
  return digestsOf(folder)
    .map(([name, digest]) => `${digest}  ${name}\n`)
    .join('')
}

/**
 * https://in-toto.io/Statement/v1 and https://slsa.dev/provenance/v1. The statement has no time and no name of a machine, so that two builds of
 * one commit have the same bytes.
 */
export function provenanceOf(folder: string, { version, commit, lock, node, npm }: Source): string {
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: digestsOf(folder).map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:grantor:release:v1',
        externalParameters: { command: 'npm run release', version },
        internalParameters: { node, npm },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: { sha256: lock } },
        ],
      },
      runDetails: { builder: { id: 'urn:grantor:builder:checkout' } },
    },
  }
  return `${JSON.stringify(statement, null, 2)}\n`
}
