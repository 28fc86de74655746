import { type CommandEnvironment, defineCommand } from '../../operators/terminal/command.ts'
import { composeLoginServer } from '../compose/compose.ts'
import { settingsFor } from '../compose/settings.ts'
import { tlsOf } from '../compose/tls.ts'
import { createDrain } from '../process/drain.ts'
import { limitGarbage } from '../process/engine.ts'
import { catchStopSignals, shutDownOnSignals } from '../process/shutdown.ts'
import { allListening } from '../serve/listen.ts'
import { passedDescriptors, requireSocketForEach } from '../serve/passed-socket.ts'
import { closingInOrder, loggerFor, metricsFor, openListener } from '../serve/running.ts'

export const loginServer = defineCommand({
  name: 'login-server',
  words: 'Runs the login server: the wallet login form, on its own origin.',
  about:
    'It has no database and stores nothing: it calls the auth service over HTTP, with the secret that both share. A platform can replace it with its own login server. Logs are JSON lines on standard output. SIGTERM and SIGINT stop it: for GRANTOR_DRAIN_SECONDS /health/ready responds with 503 while requests are still accepted, then the requests in progress are completed, and it exits with 0, unless set otherwise within ten seconds.',
  options: {},
  examples: [
    'GRANTOR_AUTH_URL=https://auth.example.com GRANTOR_LOGIN_URL=https://login.example.com GRANTOR_LOGIN_SECRET_FILE=/etc/grantor/login-secret grantor login-server',
  ],
  program: 'login-server',
  async run(_given, environment: CommandEnvironment) {
    limitGarbage()
    const settings = settingsFor('login-server', environment)
    const descriptors = passedDescriptors(environment)
    requireSocketForEach(1, descriptors)
    const signal = catchStopSignals()
    const logger = loggerFor(settings)
    const tls = tlsOf(settings)
    const now = () => environment.now()
    const { seconds, begin, isStopping } = createDrain(settings.drainSeconds)
    const metrics = await metricsFor(settings.loginMetricsListen, 'GRANTOR_LOGIN_METRICS_LISTEN')
    const server = await composeLoginServer(settings, { logger, now, metrics: metrics?.metrics, isStopping, tls })
    const renewal = tls?.keep([server], { logger, now })
    const close = closingInOrder([server, ...(metrics ? [metrics.server] : [])], async () => renewal?.stop())
    const opening = openListener(server, {
      address: settings.loginListen,
      descriptor: descriptors[0],
      who: 'login server',
      setting: 'GRANTOR_LOGIN_LISTEN',
    })
    try {
      await allListening([opening, ...(metrics ? [metrics.listen()] : [])])
    } catch (error) {
      await close()
      throw error
    }
    const ended = shutDownOnSignals(close, { logger, drain: { seconds, begin: () => begin([server.server]) }, signal })
    logger.info({ url: settings.loginUrl, ...(await opening) }, 'login server is ready')
    return ended
  },
})
