/** A process for the shutdown tests: one server that answers after a second, or never. SIGUSR2 is what its primary tells a worker. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import { createLogger } from '../../src/ops/logger.ts'
import { closeServers, shutDownOnSignals } from '../../src/ops/shutdown.ts'

const server = createServer((request, response) => {
  if (request.url === '/slow') setTimeout(() => response.end('answered'), 1000)
  else if (request.url !== '/never') response.end('quick')
})
const close = () => closeServers([{ server, close: () => promisify(server.close.bind(server))() }])
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify(server.address())}\n`)
})
process.exitCode = await shutDownOnSignals(close, {
  logger: createLogger({ level: 'silent' }),
  graceSeconds: 2,
  told: once(process, 'SIGUSR2'),
})
