/** TLS in the process: the server options from the two settings, and the renewal of the certificate. */
import type { Server, ServerOptions } from 'node:https'
import { type CertificateFiles, readCertificate } from '../../config/certificate.ts'
import type { Settings } from '../../config/settings.ts'
import { type ServerCertificate, tlsOptions } from '../../http/tls.ts'
import type { Logger } from '../../observability/log/logger.ts'
import { CommandError } from '../../operators/terminal/command.ts'
import type { Background } from '../process/background.ts'
import { keepCertificate } from './keep-certificate.ts'

export type Tls = {
  /** the options of an https server */
  options: ServerOptions
  /** PEM of the certificate at the start */
  cert: string
  /** of the certificate in use, in epoch seconds */
  endsAt(): number
  /** loads renewed certificates for servers that were made with `options`, until it is stopped */
  keep(servers: readonly { server: object }[], runtime: { logger: Logger; now: () => number }): Background
}

/** Undefined if a proxy terminates TLS. */
export function tlsOf(settings: Pick<Settings, 'tlsCertFile' | 'tlsKeyFile'>): Tls | undefined {
  const { tlsCertFile: certFile, tlsKeyFile: keyFile } = settings
  if (certFile === undefined || keyFile === undefined) return undefined
  let latest = certificateIn({ certFile, keyFile })
  const read = (): ServerCertificate => (latest = certificateIn({ certFile, keyFile }))
  const first = latest
  return {
    options: tlsOptions(first),
    cert: first.cert,
    endsAt: () => latest.expiresAt,
    keep: (servers, runtime) =>
      keepCertificate({ ...runtime, servers: servers.map(({ server }) => server as Server), first, read }),
  }
}

function certificateIn(files: CertificateFiles): ServerCertificate {
  const reading = readCertificate(files)
  if (reading.kind === 'faults') throw new CommandError(reading.faults.join('; '))
  return reading.certificate
}
