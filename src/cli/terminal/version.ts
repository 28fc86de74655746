/** The package's version, from its package.json, in a checkout or in a compiled package. */
import { readFileSync } from 'node:fs'

export function version(): string {
  // src/cli/terminal is three folders deep in a checkout; dist/src/cli/terminal is four folders deep in a package.
  for (const path of ['../../../package.json', '../../../../package.json']) {
    try {
      const manifest = readFileSync(new URL(path, import.meta.url), 'utf8')
      const { name, version: number } = JSON.parse(manifest) as { name: string; version: string }
      if (name === 'grantor') return number
    } catch {
      // does not exist: try the other path
    }
  }
  return 'unknown'
}
