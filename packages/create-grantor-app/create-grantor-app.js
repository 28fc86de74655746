#!/usr/bin/env node
// JavaScript that an old version of Node.js can run too, so that the user gets a message with the version that is needed.
const NEEDED = 24
const installed = process.versions.node

if (Number(installed.split('.')[0]) < NEEDED) {
  console.error(`Grantor needs Node.js ${NEEDED} or newer, and this is ${installed}: get it from https://nodejs.org/en/download.`)
  process.exitCode = 1
} else {
  import('./dist/index.js')
    .then(({ main }) => main(process.argv.slice(2)))
    .then((exit) => {
      process.exitCode = exit
    })
}
