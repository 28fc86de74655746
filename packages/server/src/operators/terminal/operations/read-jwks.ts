/** `--jwks`: a client's public keys, in a file or directly as JSON. */
import { readFileSync } from 'node:fs'
import type { JwkSet } from '@grantor/protocol/public-jwk'
import { UsageError } from '../command.ts'

/** In characters; twenty RSA keys have about half. */
const LONGEST = 100_000

/** The set as it was written; the registration of the client checks its content. */
export function readJwks(fileOrJson: string): JwkSet {
  const text = fileOrJson.trimStart().startsWith('{') ? fileOrJson : readText(fileOrJson)
  try {
    if (text.length <= LONGEST) return JSON.parse(text) as JwkSet
  } catch {
    // The error does not repeat the content, which may be the private key.
  }
  throw new UsageError('--jwks must be a JWK Set, or a file with one: {"keys":[…]}')
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`--jwks cannot be read: ${JSON.stringify(file)} (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`)
  }
}
