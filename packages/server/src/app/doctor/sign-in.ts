/** The ways to sign in that the settings add: each of them involves another device or another party. */
import { readSettings } from '../../config/settings.ts'
import { CommandError } from '../../operators/terminal/command.ts'
import { readWalletConnect } from '../compose/walletconnect.ts'
import { type CheckResult, ok, type Site, wrong } from './check.ts'

export async function checkSignIn({ settings, env }: Site): Promise<CheckResult[]> {
  const { crossDevice, ensNames, keyCheck } = settings
  return [
    ok(
      crossDevice
        ? 'a wallet on another device can sign in the browser that shows a code (GRANTOR_CROSS_DEVICE)'
        : 'a wallet on another device signs in there only: GRANTOR_CROSS_DEVICE is off',
    ),
    ...(ensNames ? [ok('ENS names are shown: the RPC endpoints of chain 1 receive the addresses of users')] : []),
    ...(keyCheck
      ? [ok('the home chain is called to check whether a key is switched off, so ordinary wallets need the chain')]
      : []),
    ...checkLoginServer(env),
  ]
}

/** The settings of the login server, if this machine has them. */
function checkLoginServer(env: Site['env']): CheckResult[] {
  const { GRANTOR_WALLETCONNECT_PROJECT_ID: projectId, GRANTOR_WALLET_WINDOW: walletWindow } = env
  if (!projectId && !walletWindow) return []
  const reading = readSettings('login-server', env)
  if (reading.kind === 'faults')
    return [wrong(`the login server would not start: ${reading.faults.join('; ')}`, 'Correct the settings of the login server.')]
  const { settings } = reading
  return [
    ...(settings.walletWindow === undefined
      ? []
      : [ok(`${new URL(settings.walletWindow).host} is listed as a wallet, and learns who opens it`)]),
    ...(settings.walletConnectProjectId === undefined ? [] : [checkWalletConnect(settings)]),
  ]
}

function checkWalletConnect(settings: Parameters<typeof readWalletConnect>[0]): CheckResult {
  try {
    readWalletConnect(settings)
    return ok(`WalletConnect is offered: ${new URL(settings.walletConnectRelay).host} is a third party of these sign-ins`)
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    return wrong(error.message, 'The login server does not start without the package: docs/operating/walletconnect.md.')
  }
}
