/** The stored figures: a file for each part in docs/evidence/bench. The tables and the chart of the documentation are made from these files. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeMachine } from './machine.ts'
import type { Load } from './measure.ts'
import { PARTS, type PartName } from './options.ts'
import type { PartResult } from './parts.ts'

export type Figures = PartResult & {
  /** a day, as in 2026-01-31 */
  measuredOn: string
  machine: ReturnType<typeof describeMachine>
  load: Omit<Load, 'warmUp'>
}

const DOCS = join(import.meta.dirname, '../docs/evidence')
const fileOf = (part: PartName): string => join(DOCS, `bench/${part}.json`)

export const PAGE = join(DOCS, 'performance.md')
export const CHART = join(DOCS, 'bench/chart.svg')
export const HOSTILE_CHART = join(DOCS, 'bench/hostile.svg')

export function figuresOf(measured: PartResult, { seconds, rounds, connections, chains }: Load): Figures {
  const measuredOn = new Date().toISOString().slice(0, 10)
  return { measuredOn, machine: describeMachine(), load: { seconds, rounds, connections, chains }, ...measured }
}

export function keep(figures: Figures): void {
  mkdirSync(join(DOCS, 'bench'), { recursive: true })
  writeFileSync(fileOf(figures.part), `${JSON.stringify(figures, shorten, 2)}\n`)
}

/** The stored figures of the parts, in the order of the parts. A part that was never measured is missing. */
export function kept(): Figures[] {
  return PARTS.filter((part) => existsSync(fileOf(part))).map((part) => JSON.parse(readFileSync(fileOf(part), 'utf8')) as Figures)
}

/** More than three decimals would be more precise than the measurement. */
function shorten(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 1000) / 1000 : value
}
