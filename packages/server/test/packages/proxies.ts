/** Real proxies in front of real nodes, for the tests of the settings in docs/operating/operations.md. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { BIN, launchForTest, newFolder, run } from '../app/run.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../support/certificates.ts'
import { OWN_ENVIRONMENT } from '../support/own-environment.ts'

/** A configuration of nginx with these servers, in a folder that nginx may write to. Returns the arguments of nginx. */
export function nginxWith(servers: string): string[] {
  const folder = newFolder()
  mkdirSync(join(folder, 'logs'))
  writeFileSync(join(folder, 'cert.pem'), TEST_CERTIFICATE)
  writeFileSync(join(folder, 'key.pem'), TEST_CERTIFICATE_KEY)
  const own = `pid ${folder}/nginx.pid;\nerror_log stderr;\nevents {}\n`
  const certificate = `ssl_certificate ${folder}/cert.pem;\nssl_certificate_key ${folder}/key.pem;\naccess_log off;\n`
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const temporary = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};\n`).join('')
  writeFileSync(join(folder, 'nginx.conf'), `${own}http {\n${certificate}${temporary}${servers}}\n`)
  return ['-p', folder, '-c', join(folder, 'nginx.conf')]
}

const DEFAULTS = 'defaults\n  mode http\n  timeout connect 5s\n  timeout client 1m\n  timeout server 1m\n'

/** A configuration of HAProxy with this back end. Returns the path of the file. */
export function haproxyWith(backend: string, port = 18_080): string {
  const path = join(newFolder(), 'haproxy.cfg')
  writeFileSync(path, `${DEFAULTS}frontend web\n  bind 127.0.0.1:${port}\n  default_backend grantor\n${backend}`)
  return path
}

/** Starts a proxy, which runs until the test ends, and waits until it responds. */
export async function startProxy(program: string, args: string[], port: number): Promise<ChildProcess> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  child.stderr.resume()
  onTestFinished(async () => {
    if (child.exitCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  await untilReady(port)
  return child
}

export type Installation = { env: Record<string, string>; authorization: string }

/** A migrated database and a client that needs no user. */
export async function newInstallation(): Promise<Installation> {
  const env = {
    GRANTOR_AUTH_URL: 'http://auth.localhost:9',
    GRANTOR_LOGIN_URL: 'http://login.localhost:9',
    GRANTOR_DATABASE_URL: `sqlite:${join(newFolder(), 'grantor.sqlite')}`,
    GRANTOR_SECRET: 'a-secret-of-a-test-0123456789-abcdefgh',
    GRANTOR_LOGIN_SECRET: 'a-login-secret-of-a-test-0123456789-ab',
    GRANTOR_RATE_LIMIT: 'off',
    GRANTOR_LOG_LEVEL: 'warn',
    GRANTOR_DEFAULT_RESOURCE: 'https://api.example.com/',
  }
  const at = Math.floor(Date.now() / 1000)
  const create = ['clients', 'create', '--name', 'App', '--grant-type', 'client_credentials', '--scope', 'read', '--json']
  for (const argv of [['migrate'], create]) {
    const { exit, out, err } = await run(argv, env, at)
    if (exit !== 0) throw new Error(err)
    if (argv !== create) continue
    const { client_id: id, client_secret: secret } = JSON.parse(out) as { client_id: string; client_secret: string }
    return { env, authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` }
  }
  throw new Error('unreachable')
}

export type ProxiedNode = { port: number; restart(): Promise<void> }

/** A node that opens its own socket. */
export async function startPlainNode({ env }: Installation, port: number): Promise<ProxiedNode> {
  const start = () => launchForTest(['serve'], { ...env, GRANTOR_LISTEN: `127.0.0.1:${port}` })
  let running = start()
  await untilReady(port)
  return {
    port,
    async restart() {
      const ended = running.ended()
      running.child.kill('SIGTERM')
      await ended
      running = start()
      await untilReady(port)
    },
  }
}

/**
 * A node on a socket that systemd's own program opens. A shell keeps the socket and starts the service again whenever the service ends, as
 * systemd does.
 */
export async function startSocketNode({ env }: Installation, port: number): Promise<ProxiedNode> {
  const set = Object.entries({ ...OWN_ENVIRONMENT, ...env }).map(([name, value]) => `--setenv=${name}=${value}`)
  const loop = 'while :; do sh -c \'LISTEN_PID=$$ exec "$@"\' sh "$@"; done'
  const service = [process.execPath, BIN, 'serve']
  const holder = spawn('systemd-socket-activate', [`--listen=127.0.0.1:${port}`, ...set, 'sh', '-c', loop, 'sh', ...service], {
    stdio: 'ignore',
  })
  const pid = () => Number(readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').split(' ')[0])
  onTestFinished(() => {
    const child = pid()
    holder.kill('SIGKILL')
    if (child) process.kill(child, 'SIGKILL')
  })
  await untilReady(port)
  return {
    port,
    async restart() {
      const before = pid()
      process.kill(before, 'SIGTERM')
      while (pid() === before || pid() === 0) await pause(20)
      await untilReady(port)
    },
  }
}

/** Waits until the address responds with 200 to the check of a balancer. */
async function untilReady(port: number): Promise<void> {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`, { headers: { connection: 'close' } }).catch(
      () => undefined,
    )
    if (answer?.status === 200) return
    await pause(50)
  }
}

/** Sends requests over 16 connections until `stop`: token requests and introspections, which a proxy may not repeat, and metadata. */
export function startLoad(port: number, { authorization }: Installation) {
  const agent = new Agent({ keepAlive: true })
  const failed: Record<string, number> = {}
  const state = { answered: 0, isOver: false }
  const fail = (what: string) => (failed[what] = (failed[what] ?? 0) + 1)
  const kinds = [
    { method: 'POST', path: '/oauth/token', body: 'grant_type=client_credentials&scope=read' },
    { method: 'POST', path: '/oauth/introspect', body: 'token=x' },
    { method: 'GET', path: '/.well-known/openid-configuration', body: '' },
  ]

  const send = ({ method, path, body }: (typeof kinds)[number]) =>
    new Promise<void>((resolve) => {
      const headers = { host: 'auth.example.com', authorization, 'content-type': 'application/x-www-form-urlencoded' }
      const sent = request({ host: '127.0.0.1', port, method, path, headers, agent }, (answer) => {
        if (answer.statusCode === 200) state.answered++
        else fail(`${method} ${path}: ${answer.statusCode}`)
        answer.resume().on('close', resolve)
      })
      sent.on('error', (error) => {
        fail(`${method} ${path}: ${error.message}`)
        resolve()
      })
      sent.end(body)
    })

  const runs = Array.from({ length: 16 }, async (_, start) => {
    for (let turn = start; !state.isOver; turn++) await send(kinds[turn % kinds.length]!)
  })
  const untilTotal = async (total: number) => {
    while (state.answered < total) await pause(20)
  }
  return {
    untilTotal,
    untilMore: (more: number) => untilTotal(state.answered + more),
    async stop() {
      state.isOver = true
      await Promise.all(runs)
      agent.destroy()
      return { answered: state.answered, failed }
    },
  }
}
