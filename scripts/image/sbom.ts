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
export type Sbom = { metadata: { timestamp: string }; components: Component[]; serialNumber?: string }

export type Contents = {
  packageFolder: string
  nodePath: string
  nodeVersion: string
  libraries: readonly Library[]
  /** own packages that npm does not find from `packageFolder` */
  further: readonly { name: string; version: string }[]
  epoch: number
}

export function sbomOf({ packageFolder, nodePath, nodeVersion, libraries, further, epoch }: Contents): string {
  const sbom = cleanedSbom(npmSbom(packageFolder), epoch)
  const node = component('application', 'node', nodeVersion, `pkg:generic/node@${nodeVersion}`, nodePath)
  const fromDebian = libraries.map(({ path, package: name, version, architecture }) => {
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}#${path.slice(1)}`
    return component('library', name, version, purl, path)
  })
  const own = further.map(({ name, version }) => {
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    return { type: 'library', name, version, purl, 'bom-ref': purl }
  })
  sbom.components = [...sbom.components, ...own, node, ...fromDebian]
  return `${JSON.stringify(sbom, null, 2)}\n`
}

/** Two builds of one commit must have the same bytes, so there is no serial number, and the timestamp is the commit's. */
export function cleanedSbom(given: Sbom, epoch: number): Sbom {
  const { serialNumber: _, ...sbom } = given
  const components = sbom.components.map((each) => {
    // not the address of the registry that the builder uses, and nothing that the schema of CycloneDX refuses, such as `git@host:path`
    const references = each.externalReferences ?? []
    return { ...each, externalReferences: references.filter(({ type, url }) => type !== 'distribution' && URL.canParse(url)) }
  })
  return { ...sbom, metadata: { ...sbom.metadata, timestamp: new Date(epoch * 1000).toISOString() }, components }
}

/** npm 11 leaves packages out if a development dependency needs them as well (`--omit dev`), so npm reads a manifest without these. */
export function npmSbom(folder: string, more: readonly string[] = []): Sbom {
  const path = join(folder, 'package.json')
  const manifest = readFileSync(path, 'utf8')
  const { devDependencies: _, ...production } = JSON.parse(manifest) as Record<string, unknown>
  writeFileSync(path, JSON.stringify(production))
  try {
    return JSON.parse(
      run('npm', ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', ...more], { cwd: folder }),
    ) as Sbom
  } finally {
    writeFileSync(path, manifest)
  }
}

function component(type: string, name: string, version: string, purl: string, path: string): Component {
  const content = createHash('sha256').update(readFileSync(path)).digest('hex')
  return { type, name, version, purl, 'bom-ref': purl, hashes: [{ alg: 'SHA-256', content }] }
}
