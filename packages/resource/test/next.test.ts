/**
 * The route handlers of `@grantor/resource/next`, which are functions of the Fetch standard, behind a real socket. A
 * little router does what Next.js does with the files `route.ts` of its folder `app`.
 */

import { requireToken, serveMetadata } from '@grantor/resource/next'
import { getRequestListener } from '@hono/node-server'
import { adapterContract, PAYMENT, USE } from './adapter-contract.ts'
import { listening } from './listening.ts'

type RouteContext = { params: Promise<Record<string, string>> }
type Route = Record<string, (request: Request, context: RouteContext) => Response | Promise<Response>>

adapterContract('Next.js', async (resource) => {
  const me = requireToken(resource, { scopes: ['enhancement'] }, async (_request: Request, token, context: RouteContext) => {
    await context.params
    return Response.json({ wallet: token.wallet })
  })
  const transfer = requireToken(resource, {}, (_request, token) => {
    resource.require(token, { maxAge: 60 })
    return Response.json({})
  })
  const pay = requireToken(resource, { scopes: ['enhancement'] }, async (request) => {
    return Response.json((await resource.approve(request, PAYMENT)).receipt)
  })
  const enhance = requireToken(resource, { scopes: ['enhancement'] }, async (request) => {
    return Response.json(await resource.draw(request, USE))
  })
  const failing = requireToken(resource, {}, () => {
    throw new Error('a bug of the handler')
  })
  const routes: Record<string, Route> = {
    '/.well-known/oauth-protected-resource/api': serveMetadata(resource),
    '/api/me': { GET: me },
    '/api/transfer': { GET: transfer },
    '/api/pay': { GET: pay },
    '/api/enhance': { GET: enhance },
    '/api/open': { GET: failing },
  }
  const answer = async (request: Request): Promise<Response> => {
    const handler = routes[new URL(request.url).pathname]?.[request.method]
    return (await handler?.(request, { params: Promise.resolve({}) })) ?? new Response(null, { status: 404 })
  }
  return listening(getRequestListener(answer, { errorHandler: () => new Response(null, { status: 500 }) }))
})
