#!/usr/bin/env node
// Plain old JavaScript, so that an old Node can still read it and say what is missing.
const NEEDED = 24
const installed = process.versions.node

if (Number(installed.split('.')[0]) < NEEDED) {
  console.error(`Grantor needs Node.js ${NEEDED} or newer, and this is ${installed}: get it from https://nodejs.org/en/download.`)
  process.exitCode = 1
} else {
  import('./create-app/index.js')
    .then(({ main }) => main(process.argv.slice(2)))
    .then((exit) => {
      process.exitCode = exit
    })
}
