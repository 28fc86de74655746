/**
 * The sockets to one PostgreSQL server, of our own making: all of them can be cut at once, no more than a few are opened
 * in a row, and TLS is agreed on before the driver says its first word. (The driver would wrap the socket it was given
 * and let go of it: cutting that one under the wrapper throws where nobody listens, and would end the process.)
 */
import { readFileSync } from 'node:fs'
import { connect, isIP, Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { unavailable } from './failures.ts'

/** null for no TLS; `require` encrypts without looking at the certificate. */
export type Tls = { verify: 'require' | 'verify-ca' | 'verify-full'; rootCert?: string; cert?: string; key?: string } | null

export type Sockets = { open(): Promise<Socket>; destroy(): void }

export function createSockets(host: string, port: number, tls: Tls, timeoutMs: number): Sockets {
  // Read once, and before anything is asked: a file that is missing is the operator's fault, not the server's.
  const options = tls && tlsOptions(tls, host)
  let held: Socket[] = []
  let recent: number[] = []
  let over = false
  function hold(socket: Socket): Socket {
    held = held.filter((each) => !each.destroyed)
    held.push(socket)
    return over ? socket.destroy() : socket
  }
  return {
    async open() {
      // A proxy in front of a dead server takes a connection and drops it at once; the driver would try again as fast.
      const now = performance.now()
      recent = recent.filter((at) => at > now - 1000)
      recent.push(now)
      if (recent.length > 40) await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 100))
      if (over) return new Socket().destroy()
      const plain = hold(connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port, noDelay: true }))
      if (options === null) return plain
      try {
        await agreeOnTls(plain, timeoutMs)
        if (plain.destroyed) throw coded('ECONNRESET', 'PostgreSQL closed the connection')
        return hold(connectTls({ ...options, socket: plain }))
      } catch (error) {
        plain.destroy()
        return failing(error as Error)
      }
    },
    destroy() {
      over = true
      for (const socket of held) socket.destroy()
    },
  }
}

/** SSLRequest and its answer, in the clear (PostgreSQL's manual, 54.2.11). Nothing else is said before the server agrees. */
async function agreeOnTls(socket: Socket, timeoutMs: number): Promise<void> {
  const answer = await new Promise<Buffer>((resolve, reject) => {
    const late = setTimeout(() => reject(coded('CONNECT_TIMEOUT', 'PostgreSQL did not answer in time')), timeoutMs)
    const done = () => {
      clearTimeout(late)
      socket.removeAllListeners('data')
      socket.removeAllListeners('close')
    }
    socket.on('error', reject)
    socket.once('close', () => {
      done()
      reject(coded('ECONNRESET', 'PostgreSQL closed the connection'))
    })
    socket.once('data', (bytes: Buffer) => {
      // What comes next belongs to TLS.
      socket.pause()
      done()
      resolve(bytes)
    })
    socket.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]))
  })
  // More than the one letter was put there by somebody on the way, to be taken for the server's after TLS (CVE-2021-23222).
  if (answer.length !== 1 || answer[0] !== 'S'.charCodeAt(0)) throw coded('ERR_TLS_REFUSED', 'PostgreSQL does not take TLS')
}

/** The driver learns of trouble from a socket alone, once it listens. */
function failing(error: Error): Socket {
  const socket = new Socket()
  setImmediate(() => socket.destroy(error))
  return socket
}

function coded(code: string, words: string): Error {
  return Object.assign(new Error(words), { code })
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
