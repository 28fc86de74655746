/** The software bill of materials of the image, in CycloneDX: npm's, with the runtime and the libraries of Debian. */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Library } from './debian.ts'
import { run } from './run.ts'

type Component = {
  type: string
  name: string
  version: string
  purl: string
  'bom-ref': string
  externalReferences?: { type: string; url: string }[]
  hashes?: { alg: string; content: string }[]
}
type Sbom = { metadata: { timestamp: string }; components: Component[]; serialNumber?: string }

export type Contents = {
  packageFolder: string
  nodePath: string
  nodeVersion: string
  libraries: readonly Library[]
  epoch: number
}

/** Two builds of one commit must have the same bytes, so there is no serial number, and the timestamp is the commit's. */
export function sbomOf({ packageFolder, nodePath, nodeVersion, libraries, epoch }: Contents): string {
  const sbom = sbomOfPackages(packageFolder)
  delete sbom.serialNumber
  sbom.metadata.timestamp = new Date(epoch * 1000).toISOString()
  for (const each of sbom.components) {
    // not the address of the registry that the builder uses, and nothing that the schema of CycloneDX refuses, such as `git@host:path`
    const references = each.externalReferences ?? []
    each.externalReferences = references.filter(({ type, url }) => type !== 'distribution' && URL.canParse(url))
  }
  const node = component('application', 'node', nodeVersion, `pkg:generic/node@${nodeVersion}`, nodePath)
  const fromDebian = libraries.map(({ path, package: name, version, architecture }) => {
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}#${path.slice(1)}`
    return component('library', name, version, purl, path)
  })
  sbom.components = [...sbom.components, node, ...fromDebian]
  return `${JSON.stringify(sbom, null, 2)}\n`
}

/** npm 11 leaves packages out if a development dependency needs them as well (`--omit dev`), so npm reads a manifest without these. */
function sbomOfPackages(folder: string): Sbom {
  const path = join(folder, 'package.json')
  const manifest = readFileSync(path, 'utf8')
  const { devDependencies: _, ...production } = JSON.parse(manifest) as Record<string, unknown>
  writeFileSync(path, JSON.stringify(production))
  try {
    return JSON.parse(run('npm', ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'], { cwd: folder })) as Sbom
  } finally {
    writeFileSync(path, manifest)
  }
}

function component(type: string, name: string, version: string, purl: string, path: string): Component {
  const content = createHash('sha256').update(readFileSync(path)).digest('hex')
  return { type, name, version, purl, 'bom-ref': purl, hashes: [{ alg: 'SHA-256', content }] }
}
