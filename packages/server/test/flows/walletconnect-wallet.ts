/** A wallet app on another device: the real library of wallets, with a key of the tests, connected to the relay of the tests. */
import { Core } from '@walletconnect/core'
import { SignClient } from '@walletconnect/sign-client'
import MemoryStorage from '../../../walletconnect/src/memory-storage.ts'
import { type TestWallet, testWallet } from '../support/wallet.ts'
import type { Relay } from '../support/walletconnect-relay.ts'

export type WalletApp = {
  /** What the wallet does with a request. */
  policy: 'sign' | 'reject' | 'reject_connection' | 'no_method' | 'no_chain' | 'hang' | 'another_account' | 'disconnect'
  /** The accounts that the wallet shares, the chosen one first. */
  accounts: TestWallet[]
  /** The methods of the requests, and what the page says about itself. */
  asked: { method: string; chainId: string }[]
  site: { name: string; url: string } | undefined
  /** The names in a proposal. */
  proposed: unknown
  /** Opens the link that the page shows. */
  scan(uri: string): Promise<void>
  switchTo(wallet: TestWallet): Promise<void>
  /** The sessions that the wallet would list to its user. */
  sessions(): number
  close(): Promise<void>
}

const REFUSED = { code: 5000, message: 'User rejected.' }

export async function startWalletApp(relay: Relay, projectId: string): Promise<WalletApp> {
  const core = new Core({
    projectId,
    relayUrl: relay.url,
    telemetryEnabled: false,
    logger: 'silent',
    customStoragePrefix: crypto.randomUUID(),
    storage: new MemoryStorage(),
  })
  // Would call verify.walletconnect.org
  core.verify.resolve = () => Promise.resolve(undefined as never)
  const metadata = { name: 'Wallet app', description: 'A wallet of the tests', url: 'https://wallet.example', icons: [] }
  const client = await SignClient.init({ core: core as never, metadata, logger: 'silent' })
  const app: WalletApp = {
    policy: 'sign',
    accounts: [testWallet(0)],
    asked: [],
    site: undefined,
    proposed: undefined,
    scan: (uri) => core.pairing.pair({ uri }).then(() => undefined),
    async switchTo(wallet) {
      const data = [wallet.address]
      for (const { topic } of client.session.getAll())
        await client.emit({ topic, chainId: 'eip155:1', event: { name: 'accountsChanged', data } })
    },
    sessions: () => client.session.length,
    async close() {
      await Promise.all(answers)
      core.heartbeat.stop()
      await core.relayer.transportClose()
    },
  }

  const answers = new Set<Promise<void>>()
  /** Keeps an answer until it was sent. If sending fails while its session still exists, `close` rejects with the error. */
  function keep(sending: Promise<unknown>, session?: string): void {
    const sent = sending.then(
      () => void answers.delete(sent),
      (error: unknown) => {
        if (session === undefined || client.session.keys.includes(session)) throw error
        answers.delete(sent)
      },
    )
    sent.catch(() => undefined)
    answers.add(sent)
  }

  // If both sides end a session at the same time, this check rejects in `onSessionDeleteRequest` of the library, which does not await it.
  const engine = client.engine as unknown as { isValidDisconnect(...request: unknown[]): Promise<void> }
  const isValidDisconnect = engine.isValidDisconnect
  engine.isValidDisconnect = (...request) => {
    const valid = isValidDisconnect(...request)
    void valid.catch((error: Error) => {
      if (!error.message.includes('Record was recently deleted')) throw error
    })
    return valid
  }

  client.on('session_proposal', ({ id, params }) => {
    const { chains = [], methods, events } = params.optionalNamespaces.eip155 ?? { methods: [], events: [] }
    app.site = params.proposer.metadata
    app.proposed = params.optionalNamespaces
    if (app.policy === 'reject_connection') return keep(client.reject({ id, reason: REFUSED }))
    if (app.policy === 'no_chain') return keep(client.reject({ id, reason: { code: 5100, message: 'Unsupported chains.' } }))
    const accounts = chains.flatMap((chain) => app.accounts.map(({ address }) => `${chain}:${address}`))
    const allowed = app.policy === 'no_method' ? ['eth_sendTransaction'] : methods
    keep(client.approve({ id, namespaces: { eip155: { chains, accounts, methods: allowed, events } } }))
  })
  client.on('session_request', ({ id, topic, params: { request, chainId } }) => {
    app.asked.push({ method: request.method, chainId })
    if (app.policy === 'hang') return
    if (app.policy === 'disconnect')
      return keep(client.disconnect({ topic, reason: { code: 6000, message: 'User disconnected.' } }), topic)
    const response = { jsonrpc: '2.0', id, ...answer(app, request.params as [string, string]) } as never
    keep(client.respond({ topic, response }), topic)
  })
  return app
}

function answer({ policy, accounts }: WalletApp, [hex, address]: [string, string]): object {
  const signer = policy === 'another_account' ? testWallet(2) : accounts.find((account) => account.address === address)
  if (policy === 'reject' || !signer) return { error: REFUSED }
  return { result: signer.sign(Buffer.from(hex.slice(2), 'hex').toString('utf8')) }
}
