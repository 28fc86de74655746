/**
 * A relay of WalletConnect on loopback: it passes encrypted messages on by topic, and keeps them for a client that subscribes later. The clients
 * are the real library on both sides.
 */
import { startWebSocketServer, type WebSocketPeer } from './websocket-server.ts'

type Message = { topic: string; message: string; tag?: number; attestation?: string; publishedAt: number }
type Client = { id: string; peer: WebSocketPeer; topics: Set<string> }
type Params = Record<string, unknown> & { topic: string; topics: string[]; message: string; tag: number }
type Call = { id: number | string; method?: string; params: Params }

export type Relay = {
  /** Its origin, for GRANTOR_WALLETCONNECT_RELAY. */
  url: string
  /** Every text that the relay received, and the address of each connection. */
  received: string[]
  connections: number
  /** Ends all connections and refuses new ones, until `restart`. */
  stop(): Promise<void>
  restart(): Promise<void>
  close(): Promise<void>
}

export async function startRelay(): Promise<Relay> {
  const clients = new Set<Client>()
  const kept: { message: Message; from: string }[] = []
  const received: string[] = []
  let calls = 0

  const deliver = ({ peer }: Client, message: Message): void =>
    peer.send(
      JSON.stringify({
        jsonrpc: '2.0',
        id: Date.now() * 1000 + (calls++ % 1000),
        method: 'irn_subscription',
        params: { id: message.topic, data: message },
      }),
    )
  const publish = (from: Client, message: Message): void => {
    kept.push({ message, from: from.id })
    for (const client of clients) if (client !== from && client.topics.has(message.topic)) deliver(client, message)
  }
  const subscribe = (client: Client, topic: string): string => {
    const isNew = !client.topics.has(topic)
    client.topics.add(topic)
    if (isNew) for (const { message, from } of kept) if (message.topic === topic && from !== client.id) deliver(client, message)
    return topic
  }
  const keptFor = (client: Client, topics: string[]): Message[] =>
    kept.filter(({ message, from }) => from !== client.id && topics.includes(message.topic)).map(({ message }) => message)

  const answer = (client: Client, method: string, params: Params): unknown => {
    const publishedAt = Date.now()
    switch (method) {
      case 'irn_publish':
        publish(client, { topic: params.topic, message: params.message, tag: params.tag, publishedAt })
        return true
      case 'irn_subscribe':
        return subscribe(client, params.topic)
      case 'irn_batchSubscribe':
        return params.topics.map((topic) => subscribe(client, topic))
      case 'irn_fetchMessages':
        return { messages: keptFor(client, [params.topic]), hasMore: false }
      case 'irn_batchFetchMessages':
        return { messages: keptFor(client, params.topics), hasMore: false }
      case 'irn_unsubscribe':
        return client.topics.delete(params.topic)
      // The relay subscribes and publishes for the client in one call
      case 'wc_proposeSession':
        subscribe(client, String(params.pairingTopic))
        publish(client, { topic: String(params.pairingTopic), message: String(params.sessionProposal), tag: 1100, publishedAt })
        return true
      case 'wc_approveSession':
        subscribe(client, String(params.sessionTopic))
        publish(client, {
          topic: String(params.pairingTopic),
          message: String(params.sessionProposalResponse),
          tag: 1101,
          publishedAt,
        })
        publish(client, {
          topic: String(params.sessionTopic),
          message: String(params.sessionSettlementRequest),
          tag: 1102,
          publishedAt,
        })
        return true
      default:
        throw new Error(`the relay of the tests does not know ${method}`)
    }
  }

  const start = (port?: number) =>
    startWebSocketServer(({ url = '' }, peer) => {
      received.push(url)
      const client: Client = { id: clientIdOf(url), peer, topics: new Set() }
      clients.add(client)
      return {
        message(text) {
          received.push(text)
          const { id, method, params } = JSON.parse(text) as Call
          // Without a method, the message confirms a delivery
          if (method !== undefined) peer.send(JSON.stringify({ jsonrpc: '2.0', id, result: answer(client, method, params) }))
        },
        closed: () => void clients.delete(client),
      }
    }, port)
  let server = await start()
  const { url } = server
  return {
    url,
    received,
    get connections() {
      return clients.size
    },
    stop: () => server.close(),
    restart: async () => void (server = await start(Number(new URL(url).port))),
    close: () => server.close(),
  }
}

/** The key of the client, from the JWT with which it connects. */
function clientIdOf(url: string): string {
  const [, payload = ''] = (new URL(url, 'ws://relay').searchParams.get('auth') ?? '').split('.')
  return (JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { iss: string }).iss
}
