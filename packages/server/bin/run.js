import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** Imports the source of a program in a checkout, and the compiled file in an installed package. */
export function importProgram(source, compiled) {
  if (!existsSync(source)) return import(compiled.href)
  resolvePackagesToSource()
  return import(source.href)
}

// In a checkout, the name of each of our packages means its `src`, by the condition `grantor-source` of its exports. Node accepts
// conditions on its command line only, so a hook adds the condition.
function resolvePackagesToSource() {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (!specifier.startsWith('@grantor/') && !specifier.startsWith('grantor/')) return nextResolve(specifier, context)
      return nextResolve(specifier, { ...context, conditions: [...context.conditions, 'grantor-source'] })
    },
  })
}
