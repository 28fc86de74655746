import type { Settings } from '../../config/settings.ts'
import { shutDownOnSignals } from '../../ops/shutdown.ts'
import { defineCommand, type World } from '../command.ts'
import { loggerFor, metricsFor, openAuthService } from '../running.ts'
import { settingsFor } from '../settings.ts'
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
  const now = () => world.now()
  const { close, drain } = await openAuthService(settings, { logger, now, metrics: metrics?.metrics, metricsListener: metrics })
  const ended = shutDownOnSignals(close, { logger, drain })
  logger.info({ url: settings.authUrl, ...settings.listen }, 'auth service is ready')
  return ended
}
