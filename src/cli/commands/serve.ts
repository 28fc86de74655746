import type { Settings } from '../../config/settings.ts'
import { shutDownOnSignals } from '../../ops/shutdown.ts'
import { defineCommand, type World } from '../command.ts'
import { composeAuthService } from '../compose.ts'
import { allListening, listen } from '../listen.ts'
import { closingInOrder, loggerFor, metricsFor } from '../running.ts'
import { settingsFor } from '../settings.ts'
import { tlsOf } from '../tls.ts'
import { runWorker, workerNumber } from '../worker.ts'
import { runWorkers, workersFrom } from '../workers.ts'

export const serve = defineCommand({
  name: 'serve',
  words: 'Runs the auth service: the OAuth endpoints, sessions, grants, tokens and keys.',
  about: [
    'The database must be there and up to date: run grantor migrate first. Logs are JSON lines on standard output. SIGTERM and SIGINT stop it: for GRANTOR_DRAIN_SECONDS it says that it is not ready and still takes requests, then those under way are answered, and it exits with 0, unless set otherwise within ten seconds. GET /health/live and /health/ready tell how it is. See docs/operations.md.',
  ],
  options: {
    workers: {
      value: 'N',
      words:
        'Processes that share the work, and one more that watches them: as many as there are processor cores to use. 1 unless given: a single process.',
    },
  },
  examples: [
    'GRANTOR_AUTH_URL=https://auth.example.com GRANTOR_LOGIN_URL=https://login.example.com GRANTOR_DATABASE_URL=sqlite:/var/lib/grantor/grantor.sqlite GRANTOR_SECRET_FILE=/etc/grantor/secret GRANTOR_LOGIN_SECRET_FILE=/etc/grantor/login-secret grantor serve',
    'grantor serve --workers 4',
  ],
  program: 'serve',
  async run({ options }, world: World) {
    const workers = workersFrom(options.workers)
    const settings = settingsFor('serve', world)
    const number = workerNumber(world.env)
    if (number !== null) return runWorker(number, settings, world)
    return workers > 1 ? runWorkers(workers, settings, world) : runAlone(settings, world)
  },
})

async function runAlone(settings: Settings<'serve'>, world: World): Promise<number> {
  const logger = loggerFor(settings)
  const metrics = await metricsFor(settings)
  const tls = tlsOf(settings)
  const now = () => world.now()
  const service = await composeAuthService(settings, { logger, now, metrics: metrics?.metrics, tls })
  const renewal = tls?.keep([service.server], { logger, now })
  const close = closingInOrder([...(metrics ? [metrics.server] : []), service.server], async () => {
    await renewal?.stop()
    await service.close()
  })
  try {
    await allListening([
      listen(service.server, settings.listen, 'auth service', 'set GRANTOR_LISTEN'),
      ...(metrics ? [metrics.listen()] : []),
    ])
  } catch (error) {
    await close()
    throw error
  }
  const ended = shutDownOnSignals(close, { logger, drain: service.drain })
  logger.info({ url: settings.authUrl, ...settings.listen }, 'auth service is ready')
  return ended
}
