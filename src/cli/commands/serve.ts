import { shutDownOnSignals } from '../../ops/shutdown.ts'
import { defineCommand, type World } from '../command.ts'
import { composeAuthService } from '../compose.ts'
import { allListening, listen } from '../listen.ts'
import { closingInOrder, loggerFor, metricsFor } from '../running.ts'
import { settingsFor } from '../settings.ts'

export const serve = defineCommand({
  name: 'serve',
  words: 'Runs the auth service: the OAuth endpoints, sessions, grants, tokens and keys.',
  about: [
    'The database must be there and up to date: run grantor migrate first. Logs are JSON lines on standard output. SIGTERM and SIGINT stop it: requests under way are answered, and it exits with 0 within ten seconds. GET /health/live and /health/ready tell how it is. See docs/operations.md.',
  ],
  options: {},
  examples: [
    'GRANTOR_AUTH_URL=https://auth.example.com GRANTOR_LOGIN_URL=https://login.example.com GRANTOR_DATABASE_URL=sqlite:/var/lib/grantor/grantor.sqlite GRANTOR_SECRET_FILE=/etc/grantor/secret GRANTOR_LOGIN_SECRET_FILE=/etc/grantor/login-secret grantor serve',
  ],
  program: 'serve',
  async run(_given, world: World) {
    const settings = settingsFor('serve', world)
    const logger = loggerFor(settings)
    const metrics = await metricsFor(settings)
    const service = await composeAuthService(settings, { logger, now: () => world.now(), metrics: metrics?.metrics })
    const close = closingInOrder([...(metrics ? [metrics.server] : []), service.server], service.close)
    try {
      await allListening([
        listen(service.server, settings.listen, 'auth service', 'set GRANTOR_LISTEN'),
        ...(metrics ? [metrics.listen()] : []),
      ])
    } catch (error) {
      await close()
      throw error
    }
    const ended = shutDownOnSignals(close, { logger })
    logger.info({ url: settings.authUrl, ...settings.listen }, 'auth service is ready')
    return ended
  },
})
