/** The settings for reverse proxies in docs/operating/operations.md. `npm run test:packages` runs these tests; they need Debian's nginx and haproxy. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { LONG_HEADER } from '../../src/http/probe.ts'
import { freePorts } from '../support/free-ports.ts'
import { blockWith } from '../support/page-blocks.ts'
import { ASKED, missing } from './missing.ts'
import {
  haproxyWith,
  type Installation,
  newInstallation,
  nginxWith,
  type ProxiedNode,
  startLoad,
  startPlainNode,
  startProxy,
  startSocketNode,
} from './proxies.ts'

const block = (part: string) => blockWith('operating/operations.md', part)

/** What is missing for the test with these programs; the empty text if nothing is. */
function lackingFor(...programs: string[]): string {
  const lacking = ASKED ? missing(...programs) : programs.join(', ')
  if (ASKED && lacking) console.log(`skipped: the settings need ${lacking}; apt-get install nginx haproxy systemd`)
  return lacking
}

/** A name for each of the two servers of the page for the auth service. */
const hosts = ['auth1.example.com', 'auth2.example.com'][Symbol.iterator]()

/** `fetch` sends no other Host. */
async function getFrom({ host, port, path }: { host: string; port: number; path: string }): Promise<IncomingMessage> {
  const sent = request({ host: '127.0.0.1', port, path, headers: { host } }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return answer.resume()
}

// A test needs no right to the port 443.
const nginxServers = (port = 18_443) =>
  [block('server_name login.example.com'), block('upstream grantor')].map((servers) =>
    servers.replaceAll('listen 443 ssl', `listen 127.0.0.1:${port}`),
  )

test.skipIf(lackingFor('nginx'))('nginx accepts the servers of the page', () => {
  for (const part of ['server_name login.example.com', 'upstream grantor', 'server_name admin.example.internal']) {
    const servers = block(part).replaceAll(/listen (?:\S+:)?443/g, 'listen 127.0.0.1:18443')
    const { status, stderr } = spawnSync('nginx', ['-t', ...nginxWith(servers)], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, expect.stringContaining('test is successful')])
  }
})

test.skipIf(lackingFor('nginx'))(
  'Each server of the page forwards the long query and the long header of an answer that grantor doctor probes',
  async () => {
    const [port = 0, upstream = 0] = await freePorts(2)
    const server = createServer((request, response) => {
      response.writeHead(200, { 'x-long': 'x'.repeat(LONG_HEADER), 'x-query': String(request.url?.length) }).end()
    }).listen(upstream, '127.0.0.1')
    onTestFinished(() => void server.close())
    const servers = ['server_name login.example.com', 'upstream grantor', 'server_name admin.example.internal'].map((part) =>
      block(part)
        .replaceAll(/listen \S+ ssl/g, `listen 127.0.0.1:${port}`)
        .replaceAll(/(?:127\.0\.0\.1|10\.0\.0\.1\d):400\d/g, `127.0.0.1:${upstream}`)
        .replaceAll('server_name auth.example.com', () => `server_name ${hosts.next().value}`),
    )
    await startProxy('nginx', ['-g', 'daemon off;', ...nginxWith(servers.join(''))], port)
    for (const host of ['auth1.example.com', 'auth2.example.com', 'login.example.com', 'admin.example.internal']) {
      const answer = await getFrom({ host, port, path: `/probe?long=${'x'.repeat(6_000)}` })
      expect([host, answer.statusCode, answer.headers['x-query']]).toEqual([host, 200, '6012'])
    }
  },
)

test.skipIf(lackingFor('haproxy'))('HAProxy accepts the back end of the page', () => {
  const { status, stderr } = spawnSync('haproxy', ['-c', '-f', haproxyWith(block('backend grantor'))], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, expect.not.stringContaining('[WARNING]')])
})

test.skipIf(lackingFor('haproxy'))(
  'While no node answers, the exporter of HAProxy counts the responses that the rules of the objective read',
  async () => {
    const [proxy = 0, exporter = 0, node = 0] = await freePorts(3)
    const backend = block('backend grantor').replaceAll(/10\.0\.0\.1\d:4000/g, `127.0.0.1:${node}`)
    const metrics = blockWith('operating/watch.md', 'prometheus-exporter').replace('8405', String(exporter))
    const child = spawn('haproxy', ['-db', '-f', haproxyWith(`${backend}${metrics}`, proxy)], { stdio: 'ignore' })
    onTestFinished(() => void child.kill('SIGTERM'))
    const status = () => fetch(`http://127.0.0.1:${proxy}/oauth/token`, { method: 'POST' }).then((answer) => answer.status)
    await expect.poll(() => status().catch(() => 0)).toBe(503)
    const page = await (await fetch(`http://127.0.0.1:${exporter}/metrics`)).text()
    expect(page).toMatch(/^haproxy_backend_http_responses_total\{proxy="grantor",code="5xx"\} [1-9]/m)
    expect(page).toContain('haproxy_backend_http_responses_total{proxy="grantor",code="2xx"} 0')
  },
)

/** Restarts every node twice under load, and continues until enough requests were answered. */
async function restartUnderLoad(port: number, installation: Installation, nodes: ProxiedNode[]) {
  const load = startLoad(port, installation)
  for (let time = 0; time < 2; time++) {
    for (const node of nodes) {
      await load.untilMore(500)
      await node.restart()
      // the balancer's next checks
      await pause(2000)
    }
  }
  await load.untilTotal(20_000)
  const outcome = await load.stop()
  console.log(
    `${outcome.answered} requests were answered over ${nodes.length * 2} restarts; failed: ${JSON.stringify(outcome.failed)}`,
  )
  return outcome
}

test.skipIf(lackingFor('nginx', 'systemd-socket-activate'))(
  'With a socket of systemd, no request through nginx fails while the only node restarts',
  { timeout: 600_000 },
  async () => {
    const [proxy = 0, port = 0] = await freePorts(2)
    const installation = await newInstallation()
    const node = await startSocketNode(installation, port)
    const [servers = ''] = nginxServers(proxy)
    await startProxy('nginx', ['-g', 'daemon off;', ...nginxWith(servers.replace('127.0.0.1:4000', `127.0.0.1:${port}`))], proxy)
    expect((await restartUnderLoad(proxy, installation, [node])).failed).toEqual({})
  },
)

test.skipIf(lackingFor('nginx', 'systemd-socket-activate'))(
  'With sockets of systemd, no request through nginx with kept connections fails while two nodes restart in turn',
  { timeout: 600_000 },
  async () => {
    const [proxy = 0, ...ports] = await freePorts(3)
    const installation = await newInstallation()
    const nodes = await Promise.all(ports.map((port) => startSocketNode(installation, port)))
    let [, servers = ''] = nginxServers(proxy)
    for (const [index, port] of ports.entries()) servers = servers.replace(`10.0.0.1${index + 1}:4000`, `127.0.0.1:${port}`)
    await startProxy('nginx', ['-g', 'daemon off;', ...nginxWith(servers)], proxy)
    expect((await restartUnderLoad(proxy, installation, nodes)).failed).toEqual({})
  },
)

test.skipIf(lackingFor('haproxy'))(
  'No request through HAProxy fails while three nodes restart in turn',
  { timeout: 600_000 },
  async () => {
    const [proxy = 0, ...ports] = await freePorts(4)
    const installation = await newInstallation()
    const nodes = await Promise.all(ports.map((port) => startPlainNode(installation, port)))
    let backend = block('backend grantor')
    for (const [index, port] of ports.entries()) backend = backend.replace(`10.0.0.1${index + 1}:4000`, `127.0.0.1:${port}`)
    await startProxy('haproxy', ['-db', '-f', haproxyWith(backend, proxy)], proxy)
    expect((await restartUnderLoad(proxy, installation, nodes)).failed).toEqual({})
  },
)
