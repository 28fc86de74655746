#!/usr/bin/env node
// Plain old JavaScript, so that an old Node can still read it and say what is missing.
import { existsSync } from 'fs'

const NEEDED = 24
const installed = process.versions.node

if (Number(installed.split('.')[0]) < NEEDED) {
  console.error(
    `grantor needs Node.js ${NEEDED} or newer, and this is ${installed}: ` +
      'get it from https://nodejs.org/en/download, or with "npm install node@24" and then "npx grantor".',
  )
  process.exitCode = 1
} else {
  const source = new URL('../src/cli/main.ts', import.meta.url)
  const ready = existsSync(source)
    ? resolveOwnNameToSource().then(() => import(source.href))
    : import(new URL('../dist/src/cli/main.js', import.meta.url).href)

  ready
    .then((cli) => cli.main(process.argv.slice(2)))
    .then((exitCode) => {
      process.exitCode = exitCode
    })
}

// In a checkout the examples' `grantor/resource` means src: the condition `grantor-source` of the package's exports,
// which node takes on its command line only, before this file could ask for it.
function resolveOwnNameToSource() {
  return import('module').then(({ registerHooks }) =>
    registerHooks({
      resolve(specifier, context, nextResolve) {
        if (!specifier.startsWith('grantor/')) return nextResolve(specifier, context)
        return nextResolve(specifier, { ...context, conditions: [...context.conditions, 'grantor-source'] })
      },
    }),
  )
}
