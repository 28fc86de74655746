/** Starts `store-process.ts` for one test. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export type StoreProcess = {
  /** the next line of the process's output; undefined after the process has exited */
  line(): Promise<string | undefined>
  /** lets the process continue */
  goOn(): void
  kill(signal: NodeJS.Signals): Promise<void>
  /** everything that the process has written to standard error */
  stderr(): string
  /** makes every write fail from now on that would make a file larger than this (Linux only) */
  limitFileSize(bytes: number | 'unlimited'): void
}

/** Resolves when the process is ready. The process is killed when the test is over. */
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
