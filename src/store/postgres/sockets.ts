/**
 * The sockets to one PostgreSQL server, of our own making: all of them can be cut at once, those that are being opened as
 * well, and TLS is agreed on before the driver says its first word.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { coded, unavailable } from './failures.ts'

/** null for no TLS; `require` encrypts without looking at the certificate. */
export type Tls = { verify: 'require' | 'verify-ca' | 'verify-full'; rootCert?: string; cert?: string; key?: string } | null

export type Sockets = {
  /** Resolves with a socket that is connected, over TLS where that is asked for. */
  open(): Promise<Socket>
  destroy(): void
}

export function createSockets(host: string, port: number, tls: Tls, timeoutMs: number): Sockets {
  // Read once, and before anything is asked: a file that is missing is the operator's fault, not the server's.
  const options = tls && tlsOptions(tls, host)
  let held: Socket[] = []
  let over = false
  function hold<Kind extends Socket>(socket: Kind): Kind {
    held = held.filter((each) => !each.destroyed)
    held.push(socket)
    return over ? socket.destroy() : socket
  }
  return {
    async open() {
      const plain = hold(connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port, noDelay: true }))
      // A way that is shut without a word, as firewalls do, is found out though nobody speaks.
      plain.setKeepAlive(true, 30_000)
      // Whoever uses it listens too, later; an error in between must not end the process.
      plain.on('error', () => undefined)
      try {
        await within(plain, timeoutMs, once(plain, 'connect'))
        if (options === null) return plain
        await within(plain, timeoutMs, agreeOnTls(plain))
        const secure = hold(connectTls({ ...options, socket: plain }))
        secure.on('error', () => undefined)
        await within(secure, timeoutMs, once(secure, 'secureConnect'))
        return secure
      } catch (error) {
        plain.destroy()
        throw error
      }
    },
    destroy() {
      over = true
      for (const socket of held) socket.destroy()
    },
  }
}

/** What is waited for, unless the socket closes or time runs out. */
async function within<Result>(socket: Socket, ms: number, awaited: Promise<Result>): Promise<Result> {
  const late = setTimeout(() => socket.destroy(coded('CONNECT_TIMEOUT', 'PostgreSQL did not answer in time')), ms)
  const closed = new AbortController()
  const gone = async (): Promise<never> => {
    if (!socket.closed) await once(socket, 'close', { signal: closed.signal })
    throw socket.errored ?? coded('ECONNRESET', 'PostgreSQL closed the connection')
  }
  try {
    return await Promise.race([awaited, gone()])
  } finally {
    clearTimeout(late)
    closed.abort()
  }
}

/** SSLRequest and its answer, in the clear (PostgreSQL's manual, 54.2.11). Nothing else is said before the server agrees. */
async function agreeOnTls(socket: Socket): Promise<void> {
  socket.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]))
  const answer = await new Promise<Buffer>((resolve) => {
    socket.once('data', (bytes: Buffer) => {
      // What comes next belongs to TLS.
      socket.pause()
      resolve(bytes)
    })
  })
  // More than the one letter was put there by somebody on the way, to be taken for the server's after TLS (CVE-2021-23222).
  if (answer.length !== 1 || answer[0] !== 'S'.charCodeAt(0)) throw coded('ERR_TLS_REFUSED', 'PostgreSQL does not take TLS')
}

function tlsOptions({ verify, rootCert, cert, key }: NonNullable<Tls>, host: string): ConnectionOptions {
  return {
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    minVersion: 'TLSv1.2',
    rejectUnauthorized: verify !== 'require',
    // The certificate's issuer is believed, whatever name it gave.
    ...(verify === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    ...(rootCert === undefined ? {} : { ca: fileOf(rootCert) }),
    ...(cert === undefined ? {} : { cert: fileOf(cert) }),
    ...(key === undefined ? {} : { key: fileOf(key) }),
  }
}

function fileOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw unavailable(error, `cannot read ${path}`)
  }
}
