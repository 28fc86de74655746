import { accessTokenOf, answerRefusals, requireToken, serveMetadata } from '@grantor/resource/fastify'
import Fastify from 'fastify'
import { adapterContract, PAYMENT, USE } from './adapter-contract.ts'

adapterContract('Fastify', async (resource) => {
  const app = Fastify()
  app.setErrorHandler(answerRefusals(resource))
  await app.register(serveMetadata(resource))
  app.get('/api/open', async (request) => accessTokenOf(request))
  app.get('/api/me', { onRequest: requireToken(resource, { scopes: ['enhancement'] }) }, async (request) => {
    return { wallet: accessTokenOf(request).wallet }
  })
  app.get('/api/pay', { onRequest: requireToken(resource, { scopes: ['enhancement'] }) }, async (request) => {
    return (await resource.approve(request, PAYMENT)).receipt
  })
  app.get('/api/enhance', { onRequest: requireToken(resource, { scopes: ['enhancement'] }) }, async (request) => {
    return resource.draw(request, USE)
  })
  await app.register(async (scope) => {
    scope.addHook('onRequest', requireToken(resource))
    scope.get('/api/transfer', async (request) => {
      resource.require(accessTokenOf(request), { maxAge: 60 })
      return {}
    })
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { url, close: () => app.close() }
})
