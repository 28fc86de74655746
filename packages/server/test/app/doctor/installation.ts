/** A running installation for tests of `grantor doctor`: both servers as processes, each listener behind a proxy that a test can change. */
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import { join } from 'node:path'
import type { Finding } from '../../../src/app/doctor/check.ts'
import { freePorts } from '../../support/free-ports.ts'
import { launch, newFolder, type Running, run } from '../run.ts'

export type Doctored = { exit: number; findings: Finding[]; out: string }

/** What a proxy does with a request and with its answer. A test replaces the members. */
export type ProxyBehaviour = {
  /** paths that get 404 */
  closed: RegExp
  /** answers instead of the server */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | null
  toServer(headers: IncomingHttpHeaders, client: string): IncomingHttpHeaders
  toClient(headers: IncomingHttpHeaders): IncomingHttpHeaders
  changeBody(body: string): string
}

/** As in docs/operating/operations.md: the proxy adds the address of its client. */
export const goodProxy = (): ProxyBehaviour => ({
  closed: /^\/login\/(challenge|message|accept|reject)/,
  answer: null,
  toServer: (headers, client) => ({
    ...headers,
    'x-forwarded-for': [headers['x-forwarded-for'], client].filter(Boolean).join(', '),
  }),
  toClient: (headers) => headers,
  changeBody: (body) => body,
})

export type Installation = {
  env: Record<string, string>
  folder: string
  proxies: Record<'auth' | 'login' | 'admin', ProxyBehaviour>
  servers: { serve: Running; loginServer: Running }
  doctor(changes?: Record<string, string>): Promise<Doctored>
  close(): Promise<void>
}

export const now = (): number => Math.floor(Date.now() / 1000)

/** `at` is the time of the machine of the command. */
export async function runDoctor(env: Record<string, string | undefined>, at = now()): Promise<Doctored> {
  const { exit, out } = await run(['doctor', '--json'], env, at)
  return { exit, out, findings: (JSON.parse(out) as { findings: Finding[] }).findings }
}

export async function startInstallation(databaseUrl?: string, more: Record<string, string> = {}): Promise<Installation> {
  const [auth = 0, login = 0, authBehind = 0, loginBehind = 0, metrics = 0, admin = 0, adminBehind = 0] = await freePorts(7)
  const folder = newFolder()
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 })
    return join(folder, name)
  }
  mkdirSync(join(folder, 'store'), { mode: 0o700 })
  const env: Record<string, string> = {
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_LISTEN: `127.0.0.1:${authBehind}`,
    GRANTOR_LOGIN_LISTEN: `127.0.0.1:${loginBehind}`,
    GRANTOR_AUTH_BACKEND_URL: `http://127.0.0.1:${authBehind}`,
    GRANTOR_TRUSTED_PROXIES: '127.0.0.1',
    GRANTOR_DATABASE_URL: databaseUrl ?? `sqlite:${join(folder, 'store', 'grantor.sqlite')}`,
    GRANTOR_SECRET_FILE: file('secret', 'correct-horse-battery-staple-4711\n'),
    GRANTOR_LOGIN_SECRET_FILE: file('login-secret', 'between-the-servers-correct-horse\n'),
    GRANTOR_METRICS_LISTEN: `127.0.0.1:${metrics}`,
    GRANTOR_ADMIN_URL: `http://localhost:${admin}`,
    GRANTOR_ADMIN_LISTEN: `127.0.0.1:${adminBehind}`,
    GRANTOR_DRAIN_SECONDS: '0',
    ...more,
  }
  await run(['migrate'], env, now())
  const servers = { serve: launch(['serve'], env), loginServer: launch(['login-server'], env) }
  await Promise.all([servers.serve.printed('auth service is ready'), servers.loginServer.printed('login server is ready')])
  const proxies = { auth: goodProxy(), login: goodProxy(), admin: goodProxy() }
  const listening = [
    proxyTo(auth, authBehind, proxies, 'auth'),
    proxyTo(login, loginBehind, proxies, 'login'),
    proxyTo(admin, adminBehind, proxies, 'admin'),
  ]
  await Promise.all(listening.map((server) => once(server, 'listening')))
  return {
    env,
    folder,
    proxies,
    servers,
    doctor: (changes = {}) => runDoctor({ ...env, ...changes }),
    async close() {
      for (const server of listening) server.close().closeAllConnections()
      for (const { child } of Object.values(servers)) child.kill('SIGKILL')
      await Promise.all(Object.values(servers).map((server) => server.ended()))
    },
  }
}

function proxyTo(port: number, behind: number, proxies: Installation['proxies'], which: keyof Installation['proxies']): Server {
  const proxy = createServer((incoming, response) => {
    const { answer, closed, toServer, toClient, changeBody } = proxies[which]
    if (answer) return answer(incoming, response)
    if (which === 'auth' && closed.test(incoming.url ?? '')) return void response.writeHead(404).end()
    const headers = toServer(incoming.headers, '127.0.0.1')
    const outgoing = request(
      { port: behind, host: '127.0.0.1', path: incoming.url, method: incoming.method, headers, agent: false },
      (answered) => {
        let body = ''
        answered.setEncoding('utf8')
        answered.on('data', (chunk: string) => (body += chunk))
        answered.on('end', () => {
          // The length follows from the changed body.
          delete answered.headers['content-length']
          try {
            response.writeHead(answered.statusCode ?? 0, toClient(answered.headers)).end(changeBody(body))
          } catch {
            response.writeHead(502).end()
          }
        })
      },
    )
    outgoing.on('error', () => response.writeHead(502).end())
    incoming.pipe(outgoing)
  })
  return proxy.listen(port, '127.0.0.1')
}
