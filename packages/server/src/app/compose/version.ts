/** The version of the program. package.json is the only place that a person changes. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The version of the latest or the next release: that of package.json, of the packages and of the OpenAPI document. */
export function releaseVersion(): string {
  // packages/server/src/operators/terminal is three folders deep in a checkout; dist/src/operators/terminal is four folders deep in a package.
  for (const path of ['../../../package.json', '../../../../package.json']) {
    const { name, version: number } = readManifest(path)
    if (name === 'grantor' && number !== undefined) return number
  }
  return 'unknown'
}

/** The version of this build. Between releases it names the commit: `0.1.0+3f2a91c`. */
export function version(): string {
  // `npm run build` writes the file to `dist`. A checkout has none.
  return (
    readManifest('../../../build.json').version ??
    versionOfTree(fileURLToPath(new URL('../../../../..', import.meta.url)), releaseVersion())
  )
}

/**
 * The release, if the commit of the checkout has the tag of the release, or if RELEASE_VERSION names the release that is being built. Otherwise
 * the release and the commit, as build metadata (Semantic Versioning §10).
 */
export function versionOfTree(checkout: string, release: string): string {
  if (process.env.RELEASE_VERSION === release) return release
  // Not the repository of another project in which the files of this one may be.
  const git = (...args: string[]) =>
    execFileSync('git', [`--git-dir=${checkout}/.git`, `--work-tree=${checkout}`, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  try {
    const commit = git('describe', '--always', '--abbrev=7', '--dirty=.dirty', '--exclude=*')
    const isRelease = !commit.endsWith('.dirty') && git('tag', '--points-at', 'HEAD', '--list', `v${release}`) !== ''
    return isRelease ? release : `${release}+${commit}`
  } catch {
    return `${release}+unknown`
  }
}

function readManifest(path: string): { name?: string; version?: string } {
  try {
    return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { name?: string; version?: string }
  } catch {
    return {}
  }
}
