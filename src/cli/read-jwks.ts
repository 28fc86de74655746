/** `--jwks`: a client's public keys, in a file or as they are. */
import { readFileSync } from 'node:fs'
import type { JwkSet } from '../keys/public-jwk.ts'
import { UsageFailure } from './command.ts'

/** In characters; twenty RSA keys have about half. */
const LONGEST = 100_000

/** The set as it was written; what is in it is judged where clients are registered. */
export function readJwks(fileOrJson: string): JwkSet {
  const text = fileOrJson.trimStart().startsWith('{') ? fileOrJson : readText(fileOrJson)
  try {
    if (text.length <= LONGEST) return JSON.parse(text) as JwkSet
  } catch {
    // What is in it stays untold: it may be the private key.
  }
  throw new UsageFailure('--jwks must be a JWK Set, or a file with one: {"keys":[…]}')
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageFailure(
      `--jwks cannot be read: ${JSON.stringify(file)} (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
    )
  }
}
