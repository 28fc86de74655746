/** One connection to a wallet: from the link that the wallet scans to the end of the session. Nothing is stored. */
import { Core } from '@walletconnect/core'
import { SignClient } from '@walletconnect/sign-client'

export type Options = {
  projectId: string
  /** The address of the relay: `wss://relay.walletconnect.org`. */
  relay: string
  /** EIP-155 chains; the first is preferred. */
  chainIds: readonly number[]
  /** What the wallet shows to the user: the title and the origin of the page. */
  name: string
  origin: string
  show(uri: string): void
  /** The wallet shares other accounts, the chosen one first. */
  changed(accounts: string[]): void
}

export type Connection = {
  accounts(): string[]
  chainId(): number
  /** The parameters of personal_sign: the text in hex, and the address. */
  sign(params: unknown[]): Promise<unknown>
  end(): Promise<void>
}

/** Codes of EIP-1193, and the three for which the login page has sentences. */
type Code = 4001 | 4200 | 4900 | 'relay_away' | 'wallet_silent' | 'cannot_sign'

/** The library tries to reach the relay for more than a minute, and reports no failed attempt before. */
const RELAY_MS = 10_000
/** The end of a session is sent, but no sign-in fails because the relay does not confirm it. */
const END_MS = 2_000
const METHOD = 'personal_sign'
const EVENTS = ['accountsChanged']

type Client = Awaited<ReturnType<typeof SignClient.init>>
type Session = ReturnType<Client['session']['get']>

export function failure(code: Code): Error {
  return Object.assign(new Error(String(code)), { code })
}

/** Waits until a wallet has scanned the link and allowed the connection, until the proposal expires, or until `signal` aborts. */
export async function connect(options: Options, signal: AbortSignal): Promise<Connection> {
  const aborted = new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(failure(4001))))
  aborted.catch(() => {})
  const client = await startClient(options)
  const { core } = client
  const stop = async (): Promise<void> => {
    core.heartbeat.stop()
    await core.relayer.transportClose()
  }
  try {
    const session = await Promise.race([aborted, propose(client, options, signal)])
    return await openConnection({ client, session, options, stop })
  } catch (error) {
    await stop()
    throw asFailure(error)
  }
}

/** A client of its own for each connection, so that a second attempt does not depend on the first. */
async function startClient({ projectId, relay, name, origin }: Options): Promise<Client> {
  const core = new Core({
    projectId,
    relayUrl: relay,
    telemetryEnabled: false,
    logger: 'silent',
    // The library keeps one client per prefix in `globalThis`
    customStoragePrefix: crypto.randomUUID(),
  })
  // Would load a frame of verify.walletconnect.org, which the page's policy blocks, and wait for it
  core.verify.register = () => Promise.resolve('')
  const metadata = { name, description: name, url: origin, icons: [] }
  return SignClient.init({ core: core as Client['core'], metadata, logger: 'silent' })
}

async function propose(client: Client, { chainIds, show }: Options, signal: AbortSignal): Promise<Session> {
  const optionalNamespaces = { eip155: { chains: chainIds.map((id) => `eip155:${id}`), methods: [METHOD], events: EVENTS } }
  const proposal = await Promise.race([client.connect({ optionalNamespaces }), pause(RELAY_MS)])
  if (proposal?.uri === undefined) throw failure('relay_away')
  if (signal.aborted) throw failure(4001)
  show(proposal.uri)
  return proposal.approval()
}

type Opened = { client: Client; session: Session; options: Options; stop(): Promise<void> }

async function openConnection({ client, session: { topic }, options, stop }: Opened): Promise<Connection> {
  let ended = false
  const { promise: deleted, reject } = Promise.withResolvers<never>()
  deleted.catch(() => {})
  const leave = async (): Promise<void> => {
    if (ended) return
    ended = true
    const reason = { code: 6000, message: 'User disconnected.' }
    await Promise.race([client.disconnect({ topic, reason }).catch(() => {}), pause(END_MS)])
    await stop()
  }
  // The wallet may allow less than the page requests
  const shared = (): Shared[] => sharedAccounts(client.session.get(topic), options.chainIds)
  if (shared().length === 0) {
    await leave()
    throw failure('cannot_sign')
  }
  client.on('session_delete', () => {
    ended = true
    reject(failure(4900))
    void stop()
  })
  client.on('session_update', () => options.changed(addressesOf(shared())))
  client.on('session_event', ({ params: { event } }) => {
    if (event.name === 'accountsChanged') options.changed(addressesOf(shared(), event.data as unknown))
  })
  return {
    accounts: () => addressesOf(shared()),
    chainId: () => shared()[0]?.chainId ?? 1,
    async sign(params) {
      if (ended) throw failure(4900)
      const chainId = shared().find(({ address }) => isSame(address, params[1]))?.chainId
      if (chainId === undefined) throw failure(4900)
      const request = { topic, chainId: `eip155:${chainId}`, request: { method: METHOD, params } }
      try {
        return await Promise.race([client.request(request), deleted])
      } catch (error) {
        throw asFailure(error)
      }
    },
    end: leave,
  }
}

type Shared = { address: string; chainId: number }

/** The accounts on allowed chains, in the order of the chains. Empty if the wallet did not allow personal_sign. */
function sharedAccounts({ namespaces }: Session, chainIds: readonly number[]): Shared[] {
  const allowed = namespaces.eip155
  if (!allowed?.methods.includes(METHOD)) return []
  const all = allowed.accounts.map((account) => {
    const [, chainId, address = ''] = account.split(':')
    return { address, chainId: Number(chainId) }
  })
  return chainIds.flatMap((chainId) => all.filter((account) => account.chainId === chainId))
}

/** Each address once. `chosen`: the data of accountsChanged, addresses or CAIP-10 accounts, the chosen one first. */
function addressesOf(shared: Shared[], chosen: unknown = []): string[] {
  const first = Array.isArray(chosen) ? String(chosen[0]).split(':').at(-1) : undefined
  const addresses = [...new Set(shared.map(({ address }) => address))]
  return addresses.toSorted((a, b) => Number(isSame(b, first)) - Number(isSame(a, first)))
}

function isSame(address: string, other: unknown): boolean {
  return address.toLowerCase() === String(other).toLowerCase()
}

/** The codes of WalletConnect: from 5000 a refusal, from 5100 what the wallet does not support, from 6000 the end of the session. */
function asFailure(error: unknown): Error {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (typeof code === 'string') return error as Error
  if (code === 4001 || isBetween(code, 5000, 5003)) return failure(4001)
  if (isBetween(code, 6000, 6001)) return failure(4900)
  if (code === 4200 || code === -32601 || isBetween(code, 5100, 5104)) return failure('cannot_sign')
  if (/expired/i.test(String(message))) return failure('wallet_silent')
  if (/publish|socket|relay|internet/i.test(String(message))) return failure('relay_away')
  return error instanceof Error ? error : Object.assign(new Error(String(message)), { code })
}

function isBetween(code: unknown, first: number, last: number): boolean {
  return typeof code === 'number' && code >= first && code <= last
}

function pause(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds, undefined))
}
