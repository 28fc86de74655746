/** The package as an operator has it: `bin` and `dist` without `src`, so that what is measured is what is shipped. */
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Lays the built package of a checkout out in a folder of its own. The dependencies are the checkout's. */
export function layOut(checkout: string, into: string): string {
  if (!existsSync(join(checkout, 'dist/src/cli/main.js'))) throw new Error(`${checkout} is not built: run npm run build there`)
  mkdirSync(into, { recursive: true })
  for (const part of ['bin', 'dist', 'package.json']) cpSync(join(checkout, part), join(into, part), { recursive: true })
  symlinkSync(join(checkout, 'node_modules'), join(into, 'node_modules'))
  return into
}
