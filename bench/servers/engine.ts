/** What V8 and the event loop of a measured server do. */
import { readFileSync, writeFileSync } from 'node:fs'
import { sum } from '../statistics.ts'

/** `collections`: of the old generation of the heap. `longestDelay`: of the event loop, in milliseconds. */
export type EngineFacts = { collections: number; longestDelay: number }

export type Engine = {
  /** options of Node for the server */
  args: string[]
  /** since the last call, up to a quarter of a second ago */
  read(): EngineFacts
}

/** `file` receives the reports of the server. */
export function observeEngine(file: string): Engine {
  writeFileSync(file, '')
  let known = 0
  return {
    // As text: types of the source are stripped here. In the server this would take some MiB of memory.
    args: ['--import', `data:text/javascript,${encodeURIComponent(`(${String(reportEngine)})(${JSON.stringify(file)})`)}`],
    read() {
      const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
      const facts = lines.slice(known).map((line) => JSON.parse(line) as EngineFacts)
      known = lines.length
      return {
        collections: sum(facts.map(({ collections }) => collections)),
        longestDelay: Math.max(0, ...facts.map(({ longestDelay }) => longestDelay)),
      }
    },
  }
}

/** Runs in the server, before its own code. Appends a line to the file four times a second. Uses nothing of this module. */
function reportEngine(file: string): void {
  // The threads of the server have the same options.
  if (!process.getBuiltinModule('node:worker_threads').isMainThread) return
  const { openSync, writeSync } = process.getBuiltinModule('node:fs')
  const { constants, monitorEventLoopDelay, PerformanceObserver } = process.getBuiltinModule('node:perf_hooks')
  const to = openSync(file, 'a')
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  let collections = 0
  const observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries() as unknown as { detail: { kind: number } }[])
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections++
  })
  observer.observe({ entryTypes: ['gc'] })
  const report = () => {
    writeSync(to, `${JSON.stringify({ collections, longestDelay: delay.max / 1e6 })}\n`)
    collections = 0
    delay.reset()
  }
  setInterval(report, 250).unref()
}
