/** What the operating system says of processes: where they run, what they used. Linux tells it in /proc; elsewhere NaN. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'

export type Cores = {
  /** the cores that the servers may use and that the load may use, as `taskset -c` takes them; null: any */
  server: string | null
  load: string | null
}

// Counted before this process keeps to some of them: afterwards the system tells it of those alone.
const CORES = availableParallelism()

/** Server and load apart where there are two cores; `shared`: both of them for everybody. */
export function chooseCores(shared: boolean): Cores {
  if (CORES < 2 || !hasTaskset()) return { server: null, load: null }
  return shared ? { server: '0,1', load: '0,1' } : { server: '0', load: '1' }
}

function hasTaskset(): boolean {
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Keeps this process, which makes the load, to its cores: every thread of it. */
export function stayOn(cores: string | null): void {
  if (cores !== null) execFileSync('taskset', ['-acp', cores, String(process.pid)], { stdio: 'ignore' })
}

/** A command line that runs on these cores only. */
export function pinned(cores: string | null, command: string[]): string[] {
  return cores === null ? command : ['taskset', '-c', cores, ...command]
}

/** The process, and those it started. */
function family(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
  return [pid, ...children.flatMap(family)]
}

/** Seconds of processor time used so far by a process and those it started, to a hundredth. */
export function processorSeconds(pid: number): number {
  const ticks = family(pid).map((each) => {
    // The name of a process may hold anything, so the fields are counted from its closing bracket.
    const [, after = ''] = /\) (.*)$/.exec(read(`/proc/${each}/stat`).trim()) ?? []
    const fields = after.split(' ').map(Number)
    return (fields[11] ?? Number.NaN) + (fields[12] ?? Number.NaN)
  })
  return sum(ticks) / 100
}

/** The most memory (resident, MiB) a process and those it started have held at once, each for itself. */
export function peakMemory(pid: number): number {
  return memoryOf(pid, /VmHWM:\s+(\d+) kB/)
}

/** The memory (resident, MiB) that a process and those it started hold now. */
export function memory(pid: number): number {
  return memoryOf(pid, /VmRSS:\s+(\d+) kB/)
}

function memoryOf(pid: number, line: RegExp): number {
  const kilobytes = family(pid).map((each) => Number(line.exec(read(`/proc/${each}/status`))?.[1] ?? Number.NaN))
  return sum(kilobytes) / 1024
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

const sum = (values: number[]): number => values.reduce((total, each) => total + each, 0)

/** What a figure means nothing without. */
export function describeMachine(): { processor: string; cores: number; node: string; system: string } {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: CORES,
    node: process.version,
    system: `${process.platform} ${process.arch}`,
  }
}
