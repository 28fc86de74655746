import { type SpawnSyncOptions, spawnSync } from 'node:child_process'

/** Runs a program and returns its standard output without the last newline. Throws if the program fails. */
export function run(program: string, args: readonly string[], options: SpawnSyncOptions = {}): string {
  const { error, status, stdout } = spawnSync(program, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
    ...options,
    encoding: 'utf8',
  })
  if (error) throw error
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} exited with ${status}`)
  return stdout.trimEnd()
}
