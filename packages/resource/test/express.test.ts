import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { accessTokenOf, answerRefusals, type Middleware, requireToken, serveMetadata } from '@grantor/resource/express'
// @ts-expect-error -- Express publishes no types, and the adapter needs none
import express from 'express'
import { adapterContract, PAYMENT, USE } from './adapter-contract.ts'
import { listening } from './listening.ts'

type Handler = (request: IncomingMessage, response: ServerResponse & { json(body: unknown): void }) => unknown
interface Router {
  get(path: string, handler: Handler): void
  get(path: string, before: Middleware, handler: Handler): void
  use(...handlers: unknown[]): void
}
const { Router: createRouter } = express as { Router: () => Router }
const createApp = express as () => RequestListener & Router

adapterContract('Express', async (resource) => {
  const app = createApp()
  app.use(serveMetadata(resource))
  const router = createRouter()
  router.get('/open', (request, response) => response.json(accessTokenOf(request)))
  router.get('/me', requireToken(resource, { scopes: ['enhancement'] }), (request, response) => {
    response.json({ wallet: accessTokenOf(request).wallet })
  })
  router.get('/transfer', requireToken(resource), (request, response) => {
    resource.require(accessTokenOf(request), { maxAge: 60 })
    response.json({})
  })
  router.get('/pay', requireToken(resource, { scopes: ['enhancement'] }), async (request, response) => {
    response.json((await resource.approve(request, PAYMENT)).receipt)
  })
  router.get('/enhance', requireToken(resource, { scopes: ['enhancement'] }), async (request, response) => {
    response.json(await resource.draw(request, USE))
  })
  app.use('/api', router)
  app.use(answerRefusals(resource))
  // Express writes other errors to the standard error output unless a handler answers them.
  app.use((_error: unknown, _request: unknown, response: ServerResponse, _next: unknown) => response.writeHead(500).end())
  return listening(app)
})
