import type { Settings } from '../../config/settings.ts'
import { type CommandEnvironment, defineCommand } from '../../operators/terminal/command.ts'
import { settingsFor } from '../compose/settings.ts'
import { catchStopSignals, shutDownOnSignals } from '../process/shutdown.ts'
import { passedDescriptors, requireSocketForEach } from '../serve/passed-socket.ts'
import { loggerFor, metricsFor, openAuthService } from '../serve/running.ts'
import { runWorker, workerNumber } from '../serve/worker.ts'
import { runWorkers, workersFrom } from '../serve/workers.ts'

export const serve = defineCommand({
  name: 'serve',
  words: 'Runs the auth service: the OAuth endpoints, sessions, grants, tokens and keys.',
  about:
    'The database must exist and be up to date: run grantor migrate first. Logs are JSON lines on standard output. SIGTERM and SIGINT stop the service: for GRANTOR_DRAIN_SECONDS /health/ready responds with 503 while requests are still accepted, then the requests in progress are completed, and it exits with 0, unless set otherwise within ten seconds. If systemd passes a listening socket, the service uses the socket in place of GRANTOR_LISTEN. GET /health/live and /health/ready report the state. See docs/operating/operations.md.',
  options: {
    workers: {
      value: 'N',
      words:
        'The number of worker processes, usually the number of processor cores; one more process supervises them. 1 unless given: a single process.',
    },
  },
  examples: [
    'GRANTOR_AUTH_URL=https://auth.example.com GRANTOR_LOGIN_URL=https://login.example.com GRANTOR_DATABASE_URL=sqlite:/var/lib/grantor/grantor.sqlite GRANTOR_SECRET_FILE=/etc/grantor/secret GRANTOR_LOGIN_SECRET_FILE=/etc/grantor/login-secret grantor serve',
    'grantor serve --workers 4',
  ],
  program: 'serve',
  async run({ options }, environment: CommandEnvironment) {
    const workers = workersFrom(options.workers)
    const settings = settingsFor('serve', environment)
    const number = workerNumber(environment.env)
    if (number !== null) return runWorker(number, settings, environment)
    const descriptors = passedDescriptors(environment)
    requireSocketForEach(workers, descriptors)
    return workers > 1
      ? runWorkers({ count: workers, descriptors }, settings, environment)
      : runAlone(settings, environment, descriptors[0])
  },
})

async function runAlone(settings: Settings<'serve'>, environment: CommandEnvironment, descriptor?: number): Promise<number> {
  const signal = catchStopSignals()
  const logger = loggerFor(settings)
  const metrics = await metricsFor(settings.metricsListen)
  const now = () => environment.now()
  const options = { logger, now, metrics: metrics?.metrics, metricsListener: metrics, descriptor }
  const { close, drain, address } = await openAuthService(settings, options)
  const ended = shutDownOnSignals(close, { logger, drain, signal })
  logger.info({ url: settings.authUrl, ...address }, 'auth service is ready')
  return ended
}
