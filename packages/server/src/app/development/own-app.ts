/** The developer's own app beside `grantor start`: its registration from a file, and its process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { Configuration } from '../../operators/configuration/plan.ts'
import type { Service } from '../../operators/operations/service.ts'
import { UsageError } from '../../operators/terminal/command.ts'
import { readConfiguration } from '../../operators/terminal/configuration/read-configuration.ts'
import { readFileText } from '../../operators/terminal/configuration/read-file.ts'
import { printFacts } from '../../operators/terminal/print.ts'
import type { DevelopmentStore } from '../compose/development-store.ts'
import { addFileRecords, type FileClient } from './file-records.ts'

export type OwnApp = { file: string; configuration: Configuration; command: string | undefined }

/** A program that does not end within this time after SIGTERM is killed. */
const END_TIME_MS = 4000
/** Windows has no groups of processes: only the shell gets a signal. */
const HAS_GROUPS = process.platform !== 'win32'

/** Reads the file before anything is started. */
export function readOwnApp({ file, run }: { file: string | undefined; run: string | undefined }): OwnApp | null {
  if (file === undefined) {
    if (run !== undefined) throw new UsageError('--run needs --file: the file has the client of the program')
    return null
  }
  const configuration = readConfiguration(readFileText(file), file)
  if ((configuration.clients ?? []).length === 0)
    throw new UsageError(`${file} has no clients: name the client of your app there`)
  return { file, configuration, command: run }
}

/** Registers the clients and resources of the file, or changes them to what the file has now. */
export function registerOwnApp(
  { file, configuration }: OwnApp,
  service: Service,
  store: DevelopmentStore,
): Promise<FileClient[]> {
  return addFileRecords(configuration, service, {
    source: file,
    idFor: (name) => store.idFor(`id of the client ${name}`),
    secretFor: (id) => store.secretFor(`secret of the client ${id}`),
  })
}

/** Lines for the terminal. Each client ends with an empty line. */
export function clientLines(
  clients: readonly Pick<FileClient, 'name' | 'clientId' | 'clientSecret' | 'redirectUris'>[],
): string[] {
  return clients.flatMap(({ name, clientId, clientSecret, redirectUris }) => [
    name,
    ...printFacts([
      ['client_id', clientId],
      ...(clientSecret === null ? [] : [['client_secret', clientSecret] as const]),
      ...redirectUris.map((uri) => ['redirect_uri', uri] as const),
    ]),
    '',
  ])
}

export type RunningCommand = {
  /** the exit code; null if a signal ended the program */
  ended: Promise<number | null>
  stop(): Promise<void>
}

/** Runs the command in a shell, with the credentials of the first client in its environment. */
export function runOwnApp(
  command: string,
  env: Readonly<Record<string, string | undefined>>,
  { issuer, client: { clientId, clientSecret } }: { issuer: string; client: FileClient },
): RunningCommand {
  const credentials = { ISSUER: issuer, CLIENT_ID: clientId, ...(clientSecret !== null && { CLIENT_SECRET: clientSecret }) }
  // A group of its own: the shell, a watcher and the app under it end together.
  const child = spawn(command, {
    shell: true,
    env: { ...env, ...credentials },
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: HAS_GROUPS,
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const signal = (name: NodeJS.Signals): void => signalGroup(child, name)
  return {
    ended,
    async stop() {
      signal('SIGTERM')
      await Promise.race([ended, pause(END_TIME_MS, undefined, { ref: false })])
      signal('SIGKILL')
      await ended
    },
  }
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (HAS_GROUPS && child.pid !== undefined) process.kill(-child.pid, name)
    else child.kill(name)
  } catch {
    // The whole group has ended.
  }
}
