/** The renewal of a certificate while its servers run. */
import type { Server } from 'node:https'
import type { Logger } from 'pino'
import { type ServerCertificate, tlsOptions } from '../../http/tls.ts'
import { type Background, repeat } from '../process/background.ts'

/** Seconds before its expiry at which a certificate that was not renewed causes a warning. */
const SOON = 7 * 86_400

/**
 * Loads a renewed certificate without a restart: at once on SIGHUP, otherwise within a minute. Open connections are not
 * affected. If the files are being replaced and do not match yet, the old certificate stays in place.
 */
export function keepCertificate(options: {
  servers: readonly Pick<Server, 'setSecureContext'>[]
  /** the certificate that the servers were made with */
  first: ServerCertificate
  /** reads the files again; throws an error with a text for the log if they cannot be used */
  read: () => ServerCertificate
  /** epoch seconds */
  now: () => number
  logger: Pick<Logger, 'info' | 'warn' | 'error'>
}): Background {
  const { servers, read, now, logger } = options
  let present = options.first
  let lastWarning = ''

  async function reload(): Promise<void> {
    const certificate = read()
    if (certificate.cert !== present.cert || certificate.key !== present.key) {
      for (const server of servers) server.setSecureContext(tlsOptions(certificate))
      present = certificate
      logger.info({ expires: dayOf(certificate.expiresAt) }, 'loaded a renewed certificate')
    }
    warnOfEnd()
  }

  function warnOfEnd(): void {
    const left = present.expiresAt - now()
    const words = left <= 0 ? 'the certificate has expired' : left < SOON ? 'the certificate expires soon' : ''
    if (words !== '' && words !== lastWarning) logger.warn({ expires: dayOf(present.expiresAt) }, words)
    lastWarning = words
  }

  const onSignal = (): void => {
    reload().catch((error: unknown) => logger.error({ err: error }, 'the certificate stays as it is'))
  }
  warnOfEnd()
  const background = repeat({ name: 'reading the certificate', every: 60, run: reload }, logger)
  process.on('SIGHUP', onSignal)
  return {
    stop() {
      process.off('SIGHUP', onSignal)
      return background.stop()
    },
  }
}

function dayOf(at: number): string {
  return new Date(at * 1000).toISOString()
}
