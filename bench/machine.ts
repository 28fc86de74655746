/** The cores, the processor time and the memory of processes. On Linux from /proc; NaN on other systems. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { sum } from './statistics.ts'

export type Cores = {
  /** the cores of the servers and of the load, in the syntax of `taskset -c`; null for all cores */
  server: string | null
  load: string | null
}

// Counted before this process is limited to some cores: afterwards the system reports only those.
const CORES = availableParallelism()

/** If there are two cores, one is for the server and one for the load. With `shared`, both use both cores. */
export function chooseCores(shared: boolean): Cores {
  if (CORES < 2 || !isInstalled('taskset')) return { server: null, load: null }
  return shared ? { server: '0,1', load: '0,1' } : { server: '0', load: '1' }
}

/** Whether this machine has the program. */
export function isInstalled(program: string): boolean {
  return spawnSync('which', [program], { stdio: 'ignore' }).status === 0
}

/** Limits every thread of this process, which makes the load, to these cores. */
export function stayOn(cores: string | null): void {
  if (cores !== null) execFileSync('taskset', ['-acp', cores, String(process.pid)], { stdio: 'ignore' })
}

/** A command line that runs on these cores only. */
export function pinned(cores: string | null, command: string[]): string[] {
  return cores === null ? command : ['taskset', '-c', cores, ...command]
}

/** The process and its descendants. */
function family(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
  return [pid, ...children.flatMap(family)]
}

/** Seconds of processor time that a process and its descendants have used so far, to a hundredth. */
export function processorSeconds(pid: number): number {
  const ticks = family(pid).map((each) => {
    // The name of a process may contain any character, so the fields are counted from the closing bracket.
    const [, after = ''] = /\) (.*)$/.exec(read(`/proc/${each}/stat`).trim()) ?? []
    const fields = after.split(' ').map(Number)
    return (fields[11] ?? Number.NaN) + (fields[12] ?? Number.NaN)
  })
  return sum(ticks) / 100
}

/** The sum of the highest resident memory (MiB) of a process and of each of its descendants. */
export function peakMemory(pid: number): number {
  return memoryOf(pid, /VmHWM:\s+(\d+) kB/)
}

/** The resident memory (MiB) of a process and its descendants now. */
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

/** The machine on which figures were measured. */
export function describeMachine(): { processor: string; cores: number; node: string; system: string } {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: CORES,
    node: process.version,
    system: `${process.platform} ${process.arch}`,
  }
}
