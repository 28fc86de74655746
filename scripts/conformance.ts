/**
 * Checks the tables in scripts/conformance/tables, from which the page of conformance is generated.
 *
 *     npm run conformance                      fails if a row's file, comment or test is missing
 *     npm run conformance -- --report FILE     also fails if a row's test did not pass in this run (Vitest's JSON report)
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { faultsOf } from './conformance/faults.ts'
import { readTables } from './conformance/tables.ts'
import type { Report } from './conformance/titles.ts'

const { values } = parseArgs({ options: { report: { type: 'string' } } })
const report = values.report === undefined ? undefined : (JSON.parse(readFileSync(values.report, 'utf8')) as Report)
const standards = readTables()
const faults = faultsOf(standards, report)
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exit(1)

const rows = standards.reduce((sum, { requirements }) => sum + requirements.length, 0)
console.log(`${rows} requirements, ${report ? 'each test passed' : 'each with its file and its test'}`)
