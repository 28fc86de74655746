/** The package as an operator installs it: `bin` and `dist` without `src`. */
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Copies the built package of a checkout into a folder of its own, with the dependencies of the checkout. */
export function layOut(checkout: string, into: string): string {
  if (!existsSync(join(checkout, 'packages/server/dist/src')))
    throw new Error(`${checkout} is not built: run npm run build there`)
  mkdirSync(into, { recursive: true })
  for (const part of ['bin', 'dist', 'package.json'])
    cpSync(join(checkout, 'packages/server', part), join(into, part), { recursive: true })
  symlinkSync(join(checkout, 'node_modules'), join(into, 'node_modules'))
  return into
}
