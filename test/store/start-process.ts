/** Starts `store-process.ts` for one test. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export type StoreProcess = {
  /** the next line it tells; undefined once it is over */
  line(): Promise<string | undefined>
  /** lets it go on */
  goOn(): void
  kill(signal: NodeJS.Signals): Promise<void>
  /** every write that would make a file larger fails from now on (Linux only) */
  limitFileSize(bytes: number | 'unlimited'): void
}

/** Resolves when the process is ready. It is killed when the test is over. */
export async function startStoreProcess(
  task: 'hold' | 'redeem' | 'write' | 'fill' | 'migrate',
  path: string,
): Promise<StoreProcess> {
  const script = fileURLToPath(new URL('store-process.ts', import.meta.url))
  const child = spawn(process.execPath, [script, task, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async (): Promise<string | undefined> => {
    const next = await lines.next()
    return next.done ? undefined : next.value
  }
  const first = await line()
  if (first !== 'ready') throw new Error(`the process is not ready: ${first}`)
  return {
    line,
    goOn: () => void child.stdin.write('go on\n'),
    limitFileSize: (bytes) => void execFileSync('prlimit', ['--pid', String(child.pid), `--fsize=${bytes}:unlimited`]),
    async kill(signal) {
      child.kill(signal)
      await exit
    },
  }
}
