/** A login server on a real socket in front of the stand-in for the auth service. Tests can read the log. */
import { createLoginServer, type DevelopmentWallet, type WalletConnectOptions } from '../../../src/http/login/server.ts'
import { createLogger } from '../../../src/observability/log/logger.ts'
import { freePorts } from '../../support/free-ports.ts'
import { testWallet } from '../../support/wallet.ts'
import { type AuthStandIn, startAuthStandIn } from './auth-stand-in.ts'

const NOW = 1_800_000_000
export const LOGIN_SECRET = 'a-secret-between-the-two-servers'

export type LoginServer = {
  url: string
  auth: AuthStandIn
  log: string[]
  /** POSTs JSON, as the page's script does. */
  postJson(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  /** POSTs a form, as a browser without script does. */
  postForm(path: string, fields: Record<string, string> | string, headers?: Record<string, string>): Promise<Response>
  close(): Promise<void>
}

export type LoginServerSettings = {
  developmentWallet?: DevelopmentWallet
  walletWindow?: string
  walletConnect?: WalletConnectOptions
  trustedProxies?: string[]
  authUrl?: string
}

/** The development wallet of tests: the three accounts of `testWallet`. */
export const developmentWallet: DevelopmentWallet = {
  accounts: ([0, 1, 2] as const).map((i) => ({ address: testWallet(i).address, label: `Test account ${i + 1}` })),
  async sign(address, message) {
    const wallet = ([0, 1, 2] as const).map(testWallet).find((candidate) => candidate.address === address)
    if (!wallet) throw new Error('no such account')
    return wallet.sign(message)
  },
}

export async function startLoginServer(settings: LoginServerSettings = {}): Promise<LoginServer> {
  const [port = 0] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  const now = () => NOW
  const auth = await startAuthStandIn(`127.0.0.1:${port}`, now)
  const log: string[] = []
  const server = createLoginServer({
    authUrl: settings.authUrl ?? auth.url,
    loginUrl: url,
    loginSecret: LOGIN_SECRET,
    logger: createLogger({ level: 'debug', destination: { write: (line) => void log.push(line) } }),
    trustedProxies: settings.trustedProxies ?? [],
    developmentWallet: settings.developmentWallet,
    walletWindow: settings.walletWindow,
    walletConnect: settings.walletConnect,
    now,
  })
  await server.listen({ host: '127.0.0.1', port })

  const post = (path: string, type: string, body: string, headers: Record<string, string>): Promise<Response> =>
    fetch(`${url}${path}`, { method: 'POST', redirect: 'manual', headers: { 'content-type': type, ...headers }, body })
  return {
    url,
    auth,
    log,
    postJson: (path, body, headers = {}) => post(path, 'application/json', JSON.stringify(body), headers),
    postForm: (path, fields, headers = {}) =>
      post(path, 'application/x-www-form-urlencoded', new URLSearchParams(fields).toString(), headers),
    close: async () => {
      await server.close()
      await auth.close()
    },
  }
}
