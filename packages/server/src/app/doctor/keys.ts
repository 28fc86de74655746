/** The keys in the store, and the files of the secrets. */
import { statSync } from 'node:fs'
import { knownNames } from '../../config/table.ts'
import { keyHealth } from '../../domain/maintenance/keep-keys.ts'
import { CommandError } from '../../operators/terminal/command.ts'
import { time } from '../../operators/terminal/print.ts'
import { keyKeeping, withStore } from '../compose/with-store.ts'
import { type CheckResult, ok, type Site, unchecked, warning, wrong } from './check.ts'

/** Seconds. A node checks every minute whether a key must be replaced. If a key is a day late, no node does so. */
const LATE = 86_400

export async function checkKeys({ settings, now }: Site): Promise<CheckResult[]> {
  try {
    return [
      await withStore(settings, { now }, async (store, at) => judge(await keyHealth(keyKeeping(settings, store, at)), at())),
    ]
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    return [unchecked(`the keys cannot be read: ${error.message}`, 'See the check of the database.')]
  }
}

function judge({ locked, wrappedBefore, nextRotation }: Awaited<ReturnType<typeof keyHealth>>, at: number): CheckResult {
  if (locked > 0)
    return wrong(
      `${locked} keys do not open with GRANTOR_SECRET`,
      'Set the secret of these keys, or name it in GRANTOR_SECRET_PREVIOUS.',
    )
  if (nextRotation === null) return warning('there are no keys yet', 'Start grantor serve, which makes them.')
  if (nextRotation + LATE < at)
    return warning(`the keys should have been replaced at ${time(nextRotation)}`, 'Start grantor serve, which replaces them.')
  if (wrappedBefore > 0)
    return warning(`${wrappedBefore} keys are wrapped with GRANTOR_SECRET_PREVIOUS`, 'Run: grantor keys rewrap')
  return ok(`all keys open, and the next one is replaced at ${time(nextRotation)}`)
}

/** The files of secrets that the settings name. */
export async function checkSecretFiles({ env }: Site): Promise<CheckResult[]> {
  const names = knownNames.filter((name) => name.endsWith('_FILE') && name !== 'GRANTOR_TLS_CERT_FILE')
  const files = names.flatMap((name) => (env[name] ? [{ name, file: env[name] }] : []))
  const found = files.flatMap(({ name, file }) => judgeFile(name, file))
  const inEnvironment = knownNames.filter((name) => env[name] && names.includes(`${name}_FILE`))
  if (found.length > 0) return found
  if (inEnvironment.length === 0) return [ok(`the ${files.length} files of secrets are closed to other users`)]
  return [ok(`${inEnvironment.join(' and ')} are in the environment; a file (${inEnvironment[0]}_FILE) is harder to leak`)]
}

function judgeFile(name: string, file: string): CheckResult[] {
  let mode: number
  try {
    mode = statSync(file).mode & 0o777
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return [
      unchecked(
        `the file of ${name} cannot be examined (${code ?? 'unknown error'})`,
        'Run this command as the user of grantor serve.',
      ),
    ]
  }
  const octal = mode.toString(8).padStart(4, '0')
  // Root may own the file and give the group of the service the right to read it.
  if ((mode & 0o027) === 0) return []
  return [wrong(`the file of ${name} can be read or changed by other users (mode ${octal})`, `Run: chmod 600 ${file}`)]
}
