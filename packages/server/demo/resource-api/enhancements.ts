import { createProtectedResource } from '@grantor/resource'
import { answerRefusals, requireToken, serveMetadata } from '@grantor/resource/fastify'
import type { FastifyInstance, FastifyRequest } from 'fastify'

type EnhancementsOptions = {
  issuer: string
  resource: string
  introspection: { clientId: string; clientSecret: string }
  dpop?: { origin: string }
  now?: () => number
}

type Result = { item: string; cost: number }

/** The scope of every call, which has a limit (docs/guides/limits.md). */
const SCOPE = 'enhance'
/** The most that an enhancement can cost, and what it costs here: 50.00 and 45.00 NESO. */
const MOST = 5_000
const COST = 4_500
/** A demonstration keeps the latest thousand results, in memory. An API keeps all of them in its database. */
const RESULTS_AT_MOST = 1_000

/**
 * `POST /enhancements/{item}`, which draws each enhancement from the limit that the user signed.
 *
 * The item is the key of the draw. A repeated call draws nothing, and gets the stored result.
 */
export function enhancements({ now, ...options }: EnhancementsOptions) {
  const resource = createProtectedResource({ ...options, ...(now ? { now } : {}), scopesSupported: [SCOPE] })
  const results = new Map<string, Result>()

  function keep(id: string, result: Result): Result {
    const [oldest] = results.keys()
    if (oldest !== undefined && results.size >= RESULTS_AT_MOST) results.delete(oldest)
    results.set(id, result)
    return result
  }

  return async (api: FastifyInstance): Promise<void> => {
    api.setErrorHandler(answerRefusals(resource))
    api.register(serveMetadata(resource))
    const onRequest = requireToken(resource, { scopes: [SCOPE] })
    api.post('/enhancements/:item', { onRequest }, async (request: FastifyRequest<{ Params: { item: string } }>, reply) => {
      const { item } = request.params
      if (!/^[a-z]{1,20}$/.test(item)) return await reply.code(404).send({ error: 'not_found' })
      const { grantId, left } = await resource.draw(request, { key: item, amount: MOST })
      const id = `${grantId} ${item}`
      const result = results.get(id) ?? keep(id, { item, cost: COST })
      // A repeated call gives back the same amount again, which changes nothing.
      await resource.giveBack({ grantId, key: item, amount: MOST - result.cost })
      return await reply.header('cache-control', 'no-store').send({ ...result, left })
    })
  }
}
