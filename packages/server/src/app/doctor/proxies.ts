/** What the proxies in front of the servers do with headers and with the address of the client. */
import { BlockList, isIP } from 'node:net'
import { LONG_HEADER, PROBED_ANSWER } from '../../http/probe.ts'
import { printable } from './call.ts'
import { type CheckResult, ok, type Probable, type Probed, type Site, unchecked, warning, wrong } from './check.ts'
import { FORGED_ADDRESS } from './probe.ts'

const NAMES = { auth: 'grantor serve', login: 'grantor login-server', admin: 'the admin API' } as const

export async function checkProxies(site: Site): Promise<CheckResult[]> {
  const servers: Probable[] = ['auth', 'login', ...(site.settings.adminUrl === undefined ? [] : (['admin'] as const))]
  const found = await Promise.all(servers.map(async (server) => judge(server, await site.probe(server), site)))
  return found.flat()
}

function judge(server: Probable, probed: Probed, { settings }: Site): CheckResult[] {
  if ('problem' in probed)
    return [
      unchecked(
        `the path to ${NAMES[server]} could not be checked: ${printable(probed.problem)}`,
        'Give this command the environment of the services, and let the proxy forward long queries.',
      ),
    ]
  const { missing } = probed.answer
  const faults: CheckResult[] = []
  if (missing.length > 0)
    faults.push(
      wrong(
        `the proxy drops or changes these headers to ${NAMES[server]}: ${missing.join(', ')}`,
        'Let the proxy forward all request headers unchanged.',
      ),
    )
  const dropped = Object.entries(PROBED_ANSWER).filter(([name, value]) => probed.headers[name] !== value)
  if (dropped.length > 0)
    faults.push(
      wrong(
        `the proxy drops or changes these headers of the answers of ${NAMES[server]}: ${dropped.map(([name]) => name).join(', ')}`,
        'Let the proxy forward all response headers unchanged.',
      ),
    )
  if (!probed.acceptsLongAnswers)
    faults.push(
      wrong(
        `the proxy does not accept an answer of ${NAMES[server]} with a header of ${LONG_HEADER} characters, such as the redirect to the login page`,
        'Let the proxy accept headers of 8 kB in an answer; in nginx: proxy_buffer_size 8k.',
      ),
    )
  return [...faults, judgeClientAddress(server, probed, settings)]
}

/** The probe sends a forged X-Forwarded-For. A proxy must add the real address after it, or replace it. */
function judgeClientAddress(
  server: Probable,
  { answer: { peer, peer_port: peerPort, forwarded_for: forwarded }, localPort }: Extract<Probed, { answer: unknown }>,
  { trustedProxies, tlsCertFile, authUrl }: Site['settings'],
): CheckResult {
  const isTrusted = isIn(trustedProxies, peer)
  const isUntouched = forwarded === FORGED_ADDRESS
  if (isUntouched && peerPort === localPort) return ok(`${NAMES[server]} sees its clients directly`)
  if (isTrusted && isUntouched)
    return wrong(
      `the proxy at ${peer} passes on the X-Forwarded-For of the client, so any client can choose its address`,
      'Let the proxy add the address of its client to X-Forwarded-For, or replace the header.',
    )
  if (isTrusted && forwarded === null)
    return wrong(
      `the proxy at ${peer} sends no X-Forwarded-For, so all clients share one limit`,
      'Let the proxy send the address of its client in X-Forwarded-For.',
    )
  if (isTrusted) return ok(`${NAMES[server]} gets the client address from the proxy at ${peer}`)
  const remedy = `Add ${peer} to GRANTOR_TRUSTED_PROXIES of ${NAMES[server]}, and let the proxy send X-Forwarded-For.`
  // The port differs from that of this command, so there is a proxy or an address translation. On loopback there is no address translation.
  const isProxy = !isUntouched || isIn(LOOPBACK, peer) || (tlsCertFile === undefined && authUrl.startsWith('https:'))
  return isProxy
    ? wrong(`a proxy at ${peer} is not among GRANTOR_TRUSTED_PROXIES, so all clients share one limit`, remedy)
    : warning(`${NAMES[server]} sees ${peer}, which is a proxy that is not trusted, or an address translation`, remedy)
}

const LOOPBACK = ['127.0.0.0/8', '::1']

function isIn(networks: readonly string[], address: string): boolean {
  const list = new BlockList()
  for (const each of networks) {
    const [network = '', bits] = each.split('/')
    const family = isIP(network) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(network, family)
    else list.addSubnet(network, Number(bits), family)
  }
  // A listener on :: reports the addresses of IPv4 clients in this form.
  const mapped = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : ''
  const plain = isIP(mapped) === 4 ? mapped : address
  return isIP(plain) !== 0 && list.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4')
}
