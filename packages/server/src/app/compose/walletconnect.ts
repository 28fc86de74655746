/** The optional package `@grantor/walletconnect`, which is read only if its setting is present. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Settings } from '../../config/settings.ts'
import type { WalletConnectOptions } from '../../http/login/server.ts'
import { CommandError, EXIT } from '../../operators/terminal/command.ts'
import { releaseVersion } from './version.ts'

const PACKAGE = '@grantor/walletconnect'

/**
 * Undefined if WalletConnect is off. `from`: the file beside whose packages the package is. The versions must be equal, because the script of
 * the login page calls the package.
 */
export function readWalletConnect(
  {
    walletConnectProjectId: projectId,
    walletConnectRelay: relay,
  }: Pick<Settings, 'walletConnectProjectId' | 'walletConnectRelay'>,
  from: string = import.meta.filename,
): WalletConnectOptions | undefined {
  if (projectId === undefined) return undefined
  const { resolve } = createRequire(from)
  const own = releaseVersion()
  const install = `run npm install ${PACKAGE}@${own}, or remove GRANTOR_WALLETCONNECT_PROJECT_ID`
  try {
    const manifest = JSON.parse(readFileSync(resolve(`${PACKAGE}/package.json`), 'utf8')) as { version: string }
    if (manifest.version !== own)
      throw new CommandError(`${PACKAGE} has version ${manifest.version}, and Grantor has ${own}: ${install}`, EXIT.usage)
    return { projectId, relay, script: readFileSync(resolve(PACKAGE), 'utf8') }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    throw new CommandError(
      `GRANTOR_WALLETCONNECT_PROJECT_ID is set, but the package ${PACKAGE} is not installed: ${install}`,
      EXIT.usage,
    )
  }
}
