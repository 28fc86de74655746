/** Writes the secrets of new clients to a new file that only its owner can read. */
import { closeSync, fsync, rmSync, writeSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { combineCalls } from '../../../domain/model/combine-calls.ts'
import type { KeepSecret, NewSecret } from '../../configuration/section.ts'
import { openNewPrivateFile } from './new-private-file.ts'

/**
 * Each secret is one line of JSON, and is on the disk before the client is in the store. Secrets that are kept at the same time wait for the disk once.
 */
export function openSecretsFile(file: string): { keepSecret: KeepSecret; close(): void } {
  const descriptor = openNewPrivateFile(file, '--secrets')
  let isEmpty = true
  return {
    keepSecret: combineCalls(
      () => nextTurn(),
      async (secrets) => {
        isEmpty = false
        writeSync(descriptor, secrets.map((secret) => `${JSON.stringify(secretRecord(secret))}\n`).join(''))
        await promisify(fsync)(descriptor)
        return secrets.map(() => undefined)
      },
    ),
    close() {
      closeSync(descriptor)
      // An empty file is removed, so that the command can be repeated with the same name.
      if (isEmpty) rmSync(file)
    },
  }
}

export function secretRecord({ kind, id, name, secret }: NewSecret) {
  return kind === 'client' ? { client_id: id, client_secret: secret, name } : { webhook_id: id, secret, url: name }
}
