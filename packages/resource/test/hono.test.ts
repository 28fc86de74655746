import { accessTokenOf, answerRefusals, requireToken, serveMetadata } from '@grantor/resource/hono'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { adapterContract, PAYMENT, USE } from './adapter-contract.ts'
import { listening } from './listening.ts'

adapterContract('Hono', async (resource) => {
  const app = new Hono()
  app.use(serveMetadata(resource))
  const api = new Hono()
  api.get('/open', (context) => context.json(accessTokenOf(context)))
  api.get('/me', requireToken(resource, { scopes: ['enhancement'] }), (context) => {
    return context.json({ wallet: accessTokenOf(context).wallet })
  })
  api.get('/transfer', requireToken(resource), (context) => {
    resource.require(accessTokenOf(context), { maxAge: 60 })
    return context.json({})
  })
  api.get('/pay', requireToken(resource, { scopes: ['enhancement'] }), async (context) => {
    return context.json((await resource.approve(context, PAYMENT)).receipt)
  })
  api.get('/enhance', requireToken(resource, { scopes: ['enhancement'] }), async (context) => {
    return context.json(await resource.draw(context, USE))
  })
  app.route('/api', api)
  app.onError(answerRefusals(resource))
  // Without this handler, the errors that are no refusals are written to the standard error output.
  const errorHandler = () => new Response(null, { status: 500 })
  return listening(getRequestListener(app.fetch, { errorHandler }))
})
