/** Installs the packages of the new app with the package manager that started this program. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { CreateError } from './create-error.ts'

export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun'

/** A package manager names itself in this variable, such as `pnpm/10.1.0 npm/? node/v24.0.0`. */
export function packageManagerOf(userAgent = ''): PackageManager {
  return (['pnpm', 'yarn', 'bun'] as const).find((name) => userAgent.startsWith(`${name}/`)) ?? 'npm'
}

/** The new app installs packages from files in `folder` in place of the registry: for networks without one, and for tests. */
export function packageFiles(folder: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const file of readdirSync(folder)) {
    const [, scoped, plain] = /^(?:grantor-(connect|protocol|resource|testing)|(grantor))-\d[^/]*\.tgz$/.exec(file) ?? []
    const name = scoped === undefined ? plain : `@grantor/${scoped}`
    if (name !== undefined) found[name] = `file:${join(folder, file)}`
  }
  if (found.grantor === undefined) throw new CreateError(`${folder} has no file such as grantor-1.0.0.tgz.`)
  return found
}

export function install(folder: string, { manager, python }: { manager: PackageManager; python: boolean }): void {
  const quiet = manager === 'npm' ? ['--no-audit', '--no-fund', '--loglevel', 'error'] : []
  run(folder, manager, ['install', ...quiet])
  if (!python) return
  run(folder, 'python3', ['-m', 'venv', '.venv'])
  run(folder, join('.venv', process.platform === 'win32' ? 'Scripts' : 'bin', 'pip'), [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--requirement',
    'requirements.txt',
  ])
}

function run(folder: string, program: string, argv: readonly string[]): void {
  // npm is a script on Windows, which only a shell starts. No argument comes from the user.
  const { status, error } = spawnSync(program, argv, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  })
  if (error !== undefined && 'code' in error && error.code === 'ENOENT')
    throw new CreateError(`${program} is not installed on this machine.`)
  if (error || status !== 0) throw new CreateError(`"${[program, ...argv].join(' ')}" failed. The lines above have the reason.`)
}
