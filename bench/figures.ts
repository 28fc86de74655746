/** The figures as they are kept: one file a part in docs/evidence/bench, which the tables and the chart of the documentation come from. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeMachine } from './machine.ts'
import { type Options, PARTS, type PartName } from './options.ts'
import type { PartResult } from './parts.ts'

export type Figures = PartResult & {
  /** a day, as in 2026-01-31 */
  measuredOn: string
  machine: ReturnType<typeof describeMachine>
  load: Pick<Options, 'seconds' | 'rounds' | 'connections' | 'chains'>
}

const DOCS = join(import.meta.dirname, '../docs/evidence')
const fileOf = (part: PartName): string => join(DOCS, `bench/${part}.json`)

export const PAGE = join(DOCS, 'performance.md')
export const CHART = join(DOCS, 'bench/chart.svg')

export function figuresOf(measured: PartResult, { seconds, rounds, connections, chains }: Options): Figures {
  const measuredOn = new Date().toISOString().slice(0, 10)
  return { measuredOn, machine: describeMachine(), load: { seconds, rounds, connections, chains }, ...measured }
}

export function keep(figures: Figures): void {
  mkdirSync(join(DOCS, 'bench'), { recursive: true })
  writeFileSync(fileOf(figures.part), `${JSON.stringify(figures, shorten, 2)}\n`)
}

/** What was kept of each part, in their order; less where a part was never measured. */
export function kept(): Figures[] {
  return PARTS.filter((part) => existsSync(fileOf(part))).map((part) => JSON.parse(readFileSync(fileOf(part), 'utf8')) as Figures)
}

/** Three decimals are more than a measurement holds. */
function shorten(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 1000) / 1000 : value
}
