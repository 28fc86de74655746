/**
 * A process for the shutdown tests. Its server prints the path of each request, responds to `/slow` when standard input has data,
 * and never responds to `/never`. SIGUSR2 stands for the message of a primary that stops its worker.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { catchStopSignals, closeServers, shutDownOnSignals } from '../../../src/app/process/shutdown.ts'
import { createLogger } from '../../../src/observability/log/logger.ts'

const signal = catchStopSignals()
const released = once(process.stdin, 'data')
// Standard input must not keep the process alive.
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
// With a second argument, the process is still starting so many milliseconds after its server listens.
await pause(Number(process.argv[3] ?? 0))
process.exitCode = await shutDownOnSignals(close, {
  signal,
  logger: createLogger({ level: 'silent' }),
  graceSeconds: Number(process.argv[2]),
  stopRequested: once(process, 'SIGUSR2'),
})
