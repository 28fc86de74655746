/**
 * A process for the shutdown tests: one server that says on its standard output which path it was asked for, and answers
 * `/slow` once it reads something, `/never` never. SIGUSR2 is what its primary tells a worker.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import { createLogger } from '../../src/ops/logger.ts'
import { closeServers, shutDownOnSignals } from '../../src/ops/shutdown.ts'

const released = once(process.stdin, 'data')
// Waiting for it keeps no process alive.
;(process.stdin as unknown as Socket).unref()

const server = createServer((request, response) => {
  process.stdout.write(`${request.url}\n`)
  if (request.url === '/slow') void released.then(() => response.end('answered'))
  else if (request.url !== '/never') response.end('quick')
})
const close = () => closeServers([{ server, close: () => promisify(server.close.bind(server))() }])
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify(server.address())}\n`)
})
process.exitCode = await shutDownOnSignals(close, {
  logger: createLogger({ level: 'silent' }),
  graceSeconds: Number(process.argv[2]),
  stopRequested: once(process, 'SIGUSR2'),
})
