/** The package's version, from its package.json, wherever this file was compiled to. */
import { readFileSync } from 'node:fs'

export function version(): string {
  // src/cli lies two folders deep in a checkout; dist/src/cli lies three deep in a package.
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      const manifest = readFileSync(new URL(path, import.meta.url), 'utf8')
      const { name, version: number } = JSON.parse(manifest) as { name: string; version: string }
      if (name === 'grantor') return number
    } catch {
      // not there: it is the other one
    }
  }
  return 'unknown'
}
