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
  /** everything it has written to standard error */
  stderr(): string
  /** every write that would make a file larger fails from now on (Linux only) */
  limitFileSize(bytes: number | 'unlimited'): void
}

/** Resolves when the process is ready. It is killed when the test is over. */
export async function startStoreProcess(
  task: 'hold' | 'redeem' | 'write' | 'fill' | 'migrate',
  path: string,
  nodeOptions: readonly string[] = [],
): Promise<StoreProcess> {
  const script = fileURLToPath(new URL('store-process.ts', import.meta.url))
  const child = spawn(process.execPath, [...nodeOptions, script, task, path])
  const exit = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
    process.stderr.write(chunk)
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async (): Promise<string | undefined> => {
    const next = await lines.next()
    return next.done ? undefined : next.value
  }
  const first = await line()
  if (first !== 'ready') throw new Error(`the process is not ready: ${first}`)
  return {
    line,
    stderr: () => stderr,
    goOn: () => void child.stdin.write('go on\n'),
    limitFileSize: (bytes) => void execFileSync('prlimit', ['--pid', String(child.pid), `--fsize=${bytes}:unlimited`]),
    async kill(signal) {
      child.kill(signal)
      await exit
    },
  }
}
