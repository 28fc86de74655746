import { createDrain } from '../../ops/drain.ts'
import { shutDownOnSignals } from '../../ops/shutdown.ts'
import { defineCommand, type World } from '../command.ts'
import { composeLoginServer } from '../compose.ts'
import { listen } from '../listen.ts'
import { closingInOrder, loggerFor } from '../running.ts'
import { settingsFor } from '../settings.ts'
import { tlsOf } from '../tls.ts'

export const loginServer = defineCommand({
  name: 'login-server',
  words: 'Runs the login server: the wallet login form, at an address of its own.',
  about: [
    'It has no database and keeps nothing: it speaks to the auth service over HTTP, with the secret they share. A platform can put its own login server in its place. Logs are JSON lines on standard output. SIGTERM and SIGINT stop it: for GRANTOR_DRAIN_SECONDS it says that it is not ready and still takes requests, then those under way are answered, and it exits with 0, unless set otherwise within ten seconds.',
  ],
  options: {},
  examples: [
    'GRANTOR_AUTH_URL=https://auth.example.com GRANTOR_LOGIN_URL=https://login.example.com GRANTOR_LOGIN_SECRET_FILE=/etc/grantor/login-secret grantor login-server',
  ],
  program: 'login-server',
  async run(_given, world: World) {
    const settings = settingsFor('login-server', world)
    const logger = loggerFor(settings)
    const tls = tlsOf(settings)
    const now = () => world.now()
    const { seconds, begin, isStopping } = createDrain(settings.drainSeconds)
    const server = await composeLoginServer(settings, { logger, now, isStopping, tls })
    const renewal = tls?.keep([server], { logger, now })
    await listen(server, settings.loginListen, 'login server', 'set GRANTOR_LOGIN_LISTEN')
    const ended = shutDownOnSignals(
      closingInOrder([server], async () => renewal?.stop()),
      { logger, drain: { seconds, begin: () => begin([server.server]) } },
    )
    logger.info({ url: settings.loginUrl, ...settings.loginListen }, 'login server is ready')
    return ended
  },
})
