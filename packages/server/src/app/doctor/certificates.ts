/** The certificates of all URLs, and their versions of TLS, as a client receives them. */
import { connect, type PeerCertificate, type SecureContextOptions } from 'node:tls'
import { printable, reasonOf } from './call.ts'
import { type CheckResult, ok, type Site, unchecked, warning, wrong } from './check.ts'

const HANDSHAKE_MS = 5_000
const DAY = 86_400
/** ACME clients usually renew certificates 30 days before they expire. */
const SOON_DAYS = 14

export async function checkCertificates({ settings: { authUrl, loginUrl, adminUrl }, now }: Site): Promise<CheckResult[]> {
  const urls = [authUrl, loginUrl, ...(adminUrl === undefined ? [] : [adminUrl])]
    .map((url) => new URL(url))
    .filter(({ protocol }) => protocol === 'https:')
  if (urls.length === 0) return [ok('all URLs are http on this machine, so there is no certificate')]
  const found = await Promise.all(
    urls.map(async (url) => [judge(url.host, await fetchCertificate(url), now()), ...(await checkOldVersions(url))]),
  )
  return found.flat()
}

/** TLS 1.0 and 1.1 must not be used (RFC 8996). */
async function checkOldVersions(url: URL): Promise<CheckResult[]> {
  const read = await fetchCertificate(url, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })
  if ('problem' in read) return []
  return [warning(`${url.host} accepts TLS 1.1 or older`, 'Let the proxy accept TLS 1.2 and 1.3 only.')]
}

type CertificateRead = { certificate: PeerCertificate; fault: string | null } | { problem: string }

function judge(host: string, read: CertificateRead, at: number): CheckResult {
  if ('problem' in read)
    return unchecked(`${host} completes no TLS handshake (${printable(read.problem)})`, 'Check the TLS of the proxy.')
  const days = Math.floor((Date.parse(read.certificate.valid_to) / 1000 - at) / DAY)
  if (days < 0) return wrong(`the certificate of ${host} expired ${-days} days ago`, 'Renew the certificate.')
  if (read.fault !== null)
    return wrong(`the certificate of ${host} is not accepted (${printable(read.fault)})`, remedyOf(read.fault))
  if (days < SOON_DAYS)
    return warning(
      `the certificate of ${host} expires in ${days} days`,
      'Renew the certificate, and check why it was not renewed automatically.',
    )
  return ok(`the certificate of ${host} is valid for ${days} more days`)
}

function remedyOf(fault: string): string {
  if (fault.includes('ALTNAME')) return 'Use a certificate for this host name.'
  if (fault.includes('VERIFY_LEAF') || fault.includes('ISSUER'))
    return 'Let the proxy send the whole chain of the certificate, or trust its issuer here with NODE_EXTRA_CA_CERTS.'
  return 'Use a certificate that clients trust, or trust its issuer here with NODE_EXTRA_CA_CERTS.'
}

function fetchCertificate({ hostname, port }: URL, versions: SecureContextOptions = {}): Promise<CertificateRead> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    // The handshake completes even if the certificate is not accepted, so that the reason and the date of expiry can be read.
    const socket = connect({
      host,
      port: Number(port || 443),
      servername: host,
      rejectUnauthorized: false,
      timeout: HANDSHAKE_MS,
      ...versions,
    })
    const settle = (read: CertificateRead): void => {
      socket.destroy()
      resolve(read)
    }
    socket.once('secureConnect', () => {
      const error = socket.authorizationError as unknown
      settle({ certificate: socket.getPeerCertificate(), fault: socket.authorized ? null : certificateFault(error) })
    })
    socket.once('timeout', () => settle({ problem: 'no answer' }))
    socket.once('error', (error) => settle({ problem: reasonOf(error) }))
  })
}

function certificateFault(error: unknown): string {
  return typeof error === 'string' ? error : reasonOf(error)
}
