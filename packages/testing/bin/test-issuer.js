#!/usr/bin/env node
// Plain JavaScript, so that an old version of Node can run this file and print which version is needed.
const NEEDED = 24
const installed = process.versions.node

if (Number(installed.split('.')[0]) < NEEDED) {
  console.error(
    `test-issuer needs Node.js ${NEEDED} or newer, and this is ${installed}: get it from https://nodejs.org/en/download.`,
  )
  process.exitCode = 1
} else {
  import('grantor/bin/run.js')
    .then(({ importProgram }) =>
      importProgram(new URL('../src/test-issuer.ts', import.meta.url), new URL('../dist/test-issuer.js', import.meta.url)),
    )
    .then((program) => program.main(process.argv.slice(2)))
    .then((exitCode) => {
      process.exitCode = exitCode
    })
}
