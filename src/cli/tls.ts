/** TLS in the process: from the two settings to what servers are made with, and the renewal while they run. */
import type { Server, ServerOptions } from 'node:https'
import { type CertificateFiles, readCertificate } from '../config/certificate.ts'
import type { Settings } from '../config/settings.ts'
import type { Background } from '../ops/background.ts'
import type { Logger } from '../ops/logger.ts'
import { keepCertificate, type ServerCertificate, tlsOptions } from '../ops/tls.ts'
import { Failure } from './command.ts'

export type Tls = {
  /** what an https server is made with */
  options: ServerOptions
  /** PEM of the certificate it begins with */
  cert: string
  /** takes up renewed certificates for the servers that were made with `options`, until it is stopped */
  keep(servers: readonly { server: object }[], world: { logger: Logger; now: () => number }): Background
}

/** Undefined where TLS is left to a proxy. */
export function tlsOf(settings: Pick<Settings, 'tlsCertFile' | 'tlsKeyFile'>): Tls | undefined {
  const { tlsCertFile: certFile, tlsKeyFile: keyFile } = settings
  if (certFile === undefined || keyFile === undefined) return undefined
  const read = (): ServerCertificate => certificateIn({ certFile, keyFile })
  const first = read()
  return {
    options: tlsOptions(first),
    cert: first.cert,
    keep: (servers, world) => keepCertificate({ ...world, servers: servers.map(({ server }) => server as Server), first, read }),
  }
}

function certificateIn(files: CertificateFiles): ServerCertificate {
  const reading = readCertificate(files)
  if (reading.kind === 'faults') throw new Failure(reading.faults.join('; '))
  return reading.certificate
}
