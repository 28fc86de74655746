/** `GRANTOR_CHAINS`: the chains on which contract wallets can be checked, with their RPC endpoints. */
import { isLoopbackHost, type Parser } from './parsers.ts'

export type Chain = {
  chainId: number
  name: string
  /**
   * One RPC URL, or two of different operators that must agree. Only the host is not secret, because providers put keys
   * into the path.
   */
  rpc: string[]
  /** Contract wallets sign in on this chain only: on another chain the same address may have another owner. */
  home: boolean
}

const example = '{"1":{"name":"Ethereum","rpc":["https://rpc.example.com/KEY","https://rpc.example.net"],"home":true}}'

/** A JSON object from chain id to chain. Every fault of every chain is listed; no fault repeats more of a URL than its host. */
export const chains: Parser<Chain[]> = (text) => {
  const parsed = parseObject(text)
  if (parsed === null) return { fault: `must be a JSON object from chain ids to chains, as in ${example}` }

  const list = Object.entries(parsed).map(([id, entry]) => parseChain(id, entry))
  const faults = list.flatMap(({ faults }) => faults)
  const homes = list.filter(({ chain }) => chain.home).map(({ chain }) => chain.chainId)
  if (list.length > 0 && homes.length === 0) faults.push('names no home chain: give exactly one chain "home":true')
  if (homes.length > 1) faults.push(`names ${homes.length} home chains (${homes.join(', ')}): keep "home":true on exactly one`)
  return faults.length > 0 ? { fault: faults.join('; ') } : { value: list.map(({ chain }) => chain) }
}

/** `chains` has accepted the text. */
export function hostsOfChains(text: string): string {
  const parsed = chains(text)
  const list = 'value' in parsed ? parsed.value : []
  return list
    .map(({ chainId, name, home, rpc }) => {
      const hosts = rpc.map((url) => new URL(url).host).join(', ')
      return `${chainId} ${name}${home ? ' (home)' : ''} at ${hosts}`
    })
    .join('; ')
}

const members = ['name', 'rpc', 'home', 'one_rpc']

function parseChain(id: string, entry: unknown): { chain: Chain; faults: string[] } {
  const chain: Chain = { chainId: Number(id), name: '', rpc: [], home: false }
  const faults: string[] = []
  const refuse = (fault: string): number => faults.push(`chain ${JSON.stringify(id.slice(0, 20))}: ${fault}`)
  if (!/^[1-9]\d{0,14}$/.test(id)) refuse('must be a chain id, as in "1"')
  if (!isObject(entry)) {
    refuse(`must be an object, as in ${example}`)
    return { chain, faults }
  }

  const { name, rpc, home = false, one_rpc: oneRpc = false } = entry
  for (const member of Object.keys(entry)) {
    if (!members.includes(member))
      refuse(`has the unknown member ${JSON.stringify(member.slice(0, 20))}; use ${members.join(', ')}`)
  }
  if (typeof name === 'string' && /^[\x20-\x7e]{1,40}$/.test(name) && name.trim() === name) chain.name = name
  else refuse('"name" must be 1 to 40 printable ASCII characters')
  if (typeof home === 'boolean') chain.home = home
  else refuse('"home" must be true or false')
  if (typeof oneRpc !== 'boolean') refuse('"one_rpc" must be true or false')

  if (!Array.isArray(rpc) || rpc.length < 1 || rpc.length > 2) refuse('"rpc" must be a list of one or two URLs')
  else {
    const wrong = rpc.map(faultOfUrl).filter((fault) => fault !== null)
    wrong.forEach(refuse)
    if (wrong.length === 0) {
      chain.rpc = rpc as string[]
      const conflict = faultOfUrls(chain.rpc, oneRpc === true)
      if (conflict !== null) refuse(conflict)
    }
  }
  return { chain, faults }
}

function faultOfUrl(text: unknown): string | null {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol)) return '"rpc" must hold URLs, as in "https://rpc.example.com/KEY"'
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    return `the RPC at ${url.host} must use https: plain http is allowed on loopback only`
  }
  // fetch refuses such a URL, so every check would fail.
  if (url.username !== '' || url.password !== '') return `the RPC at ${url.host} must not have a user name or password in its URL`
  return null
}

/**
 * A false answer of one RPC could sign in any caller as any contract wallet. So two RPCs must agree, or the operator accepts a single
 * one explicitly.
 */
function faultOfUrls(rpc: string[], oneRpc: boolean): string | null {
  const [first, second] = rpc.map((text) => new URL(text)) as [URL, URL | undefined]
  if (second === undefined) {
    if (oneRpc || isLoopbackHost(first.hostname)) return null
    return 'has one RPC: name a second one of another operator, or set "one_rpc":true if you trust this one alone'
  }
  if (oneRpc) return 'has two RPCs and "one_rpc":true: keep one of the two'
  const sameServer = isLoopbackHost(first.hostname) ? first.host === second.host : bareHost(first) === bareHost(second)
  return sameServer ? `has both RPCs at ${first.host}: two must be of different operators` : null
}

/** Without the full stop that may end a host name. */
function bareHost(url: URL): string {
  return url.hostname.replace(/\.$/, '')
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(text)
    return isObject(parsed) ? parsed : null
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
