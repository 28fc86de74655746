import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createProtectedResource } from '@grantor/resource'
import { accessTokenOf, answerRefusals, requireToken, serveMetadata } from '@grantor/resource/hono'
import { serve } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'

/** The page imports this package as it is, without a bundler. */
const CONNECT = dirname(fileURLToPath(import.meta.resolve('@grantor/connect')))

/** The page is in `public`. The API checks the access tokens that the page gets from Grantor. `now` is the clock of a test. */
export function createApp({ issuer, clientId, appUrl, now }) {
  const api = `${appUrl}/api`
  const resource = createProtectedResource({ issuer, resource: api, scopes: ['notes.read'], ...(now && { now }) })
  const app = new Hono()
  app.use(serveMetadata(resource))
  app.onError(answerRefusals(resource))

  app.get('/api/notes', requireToken(resource, { scopes: ['notes.read'] }), (context) =>
    context.json({ wallet: accessTokenOf(context).wallet, notes: ['This note comes from your API.'] }),
  )
  app.get('/settings.json', (context) => context.json({ issuer, clientId, api }))
  app.use('/connect/*', serveStatic({ root: CONNECT, rewriteRequestPath: (path) => path.replace('/connect', '') }))
  app.use('*', serveStatic({ root: './public' }))
  return app
}

if (import.meta.main) {
  const { ISSUER, CLIENT_ID, APP_URL = 'http://localhost:3000' } = process.env
  if (!ISSUER || !CLIENT_ID) throw new Error('ISSUER and CLIENT_ID must be set: start the app with npm run dev')
  const app = createApp({ issuer: ISSUER, clientId: CLIENT_ID, appUrl: APP_URL })
  const port = Number(process.env.PORT ?? 3000)
  serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, () => console.log(`\n  ${APP_URL}\n`))
}
