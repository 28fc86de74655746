/** The file of `--stored-secrets`, which `grantor export` writes and `grantor apply` reads: one JSON object per line, for its owner only. */
import { closeSync, createReadStream, fsyncSync, rmSync, statSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { createStoredSecretsReader, type StoredSecret, type StoredSecrets } from '../../configuration/stored-secrets.ts'
import { UsageError } from '../command.ts'
import { openNewPrivateFile } from './new-private-file.ts'

/** In bytes: half a million secrets. */
const SIZE_AT_MOST = 100_000_000

const OPTION = '--stored-secrets'

export type StoredSecretsWriter = { write(secrets: readonly StoredSecret[]): void; close(): void; remove(): void }

export function createStoredSecretsFile(file: string): StoredSecretsWriter {
  const descriptor = openNewPrivateFile(file, OPTION)
  return {
    write: (secrets) => void writeSync(descriptor, secrets.map((secret) => `${JSON.stringify(secret)}\n`).join('')),
    close() {
      fsyncSync(descriptor)
      closeSync(descriptor)
    },
    // An incomplete file would give new secrets to the clients that are missing.
    remove() {
      closeSync(descriptor)
      rmSync(file)
    },
  }
}

/** The secrets of the records that are `wanted`, so that the file can be much longer than the configuration. Throws a `UsageError`. */
export async function readStoredSecretsFile(file: string, wanted: (id: string) => boolean): Promise<StoredSecrets> {
  refuseFile(file)
  const reader = createStoredSecretsReader(wanted)
  let number = 0
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1
    const fault = line.trim() === '' ? null : reader.read(line)
    if (fault !== null)
      throw new UsageError(`${OPTION}: line ${number} of ${JSON.stringify(file)}: ${fault}; nothing was changed`)
  }
  return reader.secrets
}

/** A user who can write the file can choose the secrets of clients, so other users must have no access to the file. */
function refuseFile(file: string): void {
  const refuse = (words: string): never => {
    throw new UsageError(`${OPTION}: ${JSON.stringify(file)} ${words}; nothing was changed`)
  }
  const found = statSync(file, { throwIfNoEntry: false })
  if (!found?.isFile()) return refuse('is not a file')
  if (found.size > SIZE_AT_MOST) refuse('is too large')
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0) refuse('can be used by other users: chmod 600')
}
