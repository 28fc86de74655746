/** Reads a server's certificate and its key, or lists the faults of the files. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'

export type CertificateFiles = { certFile: string; keyFile: string }

/** PEM, the chain with the server's own certificate first; `expiresAt` in epoch seconds. */
export type Certificate = { cert: string; key: string; expiresAt: number }

export type CertificateReading = { kind: 'certificate'; certificate: Certificate } | { kind: 'faults'; faults: string[] }

const CERT = 'GRANTOR_TLS_CERT_FILE'
const KEY = 'GRANTOR_TLS_KEY_FILE'

/** RFC 9325 §4.5: "[...] public keys of at least 2048 bits" for RSA. */
const RSA_AT_LEAST = 2048

/**
 * An expired certificate is not a fault: a running service with an old certificate is easier to diagnose than a service
 * that does not start.
 */
export function readCertificate({ certFile, keyFile }: CertificateFiles): CertificateReading {
  const cert = readPem(CERT, certFile, (pem) => new X509Certificate(pem), 'certificate in PEM')
  const key = readPem(KEY, keyFile, (pem) => createPrivateKey(pem), 'private key in PEM without a passphrase')
  const faults = [cert, key].flatMap((read) => ('fault' in read ? [read.fault] : []))
  if ('fault' in cert || 'fault' in key) return { kind: 'faults', faults }
  const { modulusLength } = key.parsed.asymmetricKeyDetails ?? {}
  if (!cert.parsed.checkPrivateKey(key.parsed))
    faults.push(`${KEY} names a key that does not belong to the certificate of ${CERT}`)
  else if (modulusLength !== undefined && modulusLength < RSA_AT_LEAST) {
    faults.push(`${KEY} names an RSA key of ${modulusLength} bits; the minimum is ${RSA_AT_LEAST} (RFC 9325 section 4.5)`)
  } else if (!isAcceptedByTls(cert.pem, key.pem)) faults.push(`${CERT} names a chain that TLS does not accept`)
  if (faults.length > 0) return { kind: 'faults', faults }
  const expiresAt = Math.floor(cert.parsed.validToDate.getTime() / 1000)
  return { kind: 'certificate', certificate: { cert: cert.pem, key: key.pem, expiresAt } }
}

/** The file may contain a private key, so a fault repeats only the error's code. */
function readPem<T>(
  name: string,
  file: string,
  parse: (pem: string) => T,
  what: string,
): { pem: string; parsed: T } | { fault: string } {
  let pem: string
  try {
    pem = readFileSync(file, 'utf8')
  } catch (error) {
    return { fault: `${name} names a file that cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})` }
  }
  try {
    return { pem, parsed: parse(pem) }
  } catch {
    return { fault: `${name} names a file that holds no ${what}` }
  }
}

function isAcceptedByTls(cert: string, key: string): boolean {
  try {
    createSecureContext({ cert, key })
    return true
  } catch {
    return false
  }
}
