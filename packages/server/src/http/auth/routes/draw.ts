/**
 * `/oauth/draw` and `/oauth/draw/return`: an API draws from a limit, and gives back (docs/guides/limits.md). The caller authenticates as at the
 * introspection endpoint, and requests count within the client's limit of introspections.
 */
import { isActionName } from '@grantor/protocol/approval'
import { isAmount } from '@grantor/protocol/limit'
import type { FastifyInstance } from 'fastify'
import { draw } from '../../../domain/limits/draw.ts'
import { giveBack } from '../../../domain/limits/give-back.ts'
import { onWire } from '../../../domain/model/limit-left.ts'
import { DRAW_RESULTS } from '../../../observability/metrics/draw-results.ts'
import { invalidRequest, OAuthError } from '../../../protocol/oauth/oauth-error.ts'
import { forms } from '../../../protocol/wallet/message-grammar.ts'
import { CREDENTIAL_PARAMETERS } from '../client-credentials.ts'
import { forApi } from '../for-api.ts'
import { formParameters, requireParameter } from '../form-body.ts'
import type { HttpService } from '../service.ts'

const DRAWN = [...CREDENTIAL_PARAMETERS, 'token', 'key', 'amount'] as const
const RETURNED = [...CREDENTIAL_PARAMETERS, 'grant_id', 'key', 'amount'] as const

export function drawRoutes(server: FastifyInstance, service: HttpService): void {
  const { deps } = service

  server.post('/oauth/draw', async (request, reply) => {
    const parameters = formParameters(request, DRAWN)
    return forApi(service, { request, reply }, parameters, (api) =>
      countRefused(async () => {
        const token = requireParameter(parameters.token, 'token')
        const drawn = await draw(deps, api, { token, key: keyOf(parameters), amount: amountOf(parameters) })
        const { number, left, until, isAgain } = drawn
        service.metrics?.countDraw(isAgain ? 'repeated' : 'drawn')
        const { until: end, ...rest } = onWire(left, until)
        return { draw: number, left: rest, ...(end !== undefined && { until: end }) }
      }),
    )
  })

  server.post('/oauth/draw/return', async (request, reply) => {
    const parameters = formParameters(request, RETURNED)
    return forApi(service, { request, reply }, parameters, (api) =>
      countRefused(async () => {
        const grantId = requireParameter(parameters.grant_id, 'grant_id')
        if (!forms.uuid.test(grantId)) throw invalidRequest('grant_id_malformed', 'grant_id is malformed.')
        const amount = amountOf(parameters)
        const { number } = await giveBack(deps, api, { grantId: grantId.toLowerCase(), key: keyOf(parameters), amount })
        service.metrics?.countDraw('returned')
        return { draw: number, returned: amount ?? 0 }
      }),
    )
  })

  /** Only of callers that authenticated. */
  async function countRefused(answer: () => Promise<object>): Promise<object> {
    try {
      return await answer()
    } catch (error) {
      const refused = error instanceof OAuthError && DRAW_RESULTS.find((result) => result === error.error)
      if (refused) service.metrics?.countDraw(refused)
      throw error
    }
  }
}

function keyOf({ key }: { key: string | null }): string {
  const text = requireParameter(key, 'key')
  if (!isActionName(text)) throw invalidRequest('key_malformed', 'key is malformed.')
  return text
}

/** Whole numbers of the smallest step, in ASCII digits without a sign or a leading zero. */
function amountOf({ amount }: { amount: string | null }): number | null {
  if (amount === null) return null
  if (!/^[1-9][0-9]{0,14}$/.test(amount) || !isAmount(Number(amount)))
    throw invalidRequest('amount_malformed', 'amount is malformed.')
  return Number(amount)
}
