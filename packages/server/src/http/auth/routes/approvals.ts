/**
 * `/oauth/approvals`: an API asks a user to sign one action, reads the answer, and uses it (docs/guides/approvals.md). The caller authenticates as at the
 * introspection endpoint, and requests count within the client's limit of introspections.
 */
import { setTimeout as pauseFor } from 'node:timers/promises'
import { isActionName, isSummary } from '@grantor/protocol/approval'
import type { FastifyInstance } from 'fastify'
import { askApproval, type Question } from '../../../domain/approvals/ask.ts'
import { describeApproval, readState } from '../../../domain/approvals/state.ts'
import { readOwnApproval, readReceiptOf, useApproval } from '../../../domain/approvals/use.ts'
import type { Approval } from '../../../domain/model/approval-store.ts'
import { parseForm, queryOf } from '../../../protocol/oauth/form.ts'
import { invalidRequest } from '../../../protocol/oauth/oauth-error.ts'
import type { ReasonOf } from '../../../protocol/oauth/reasons.ts'
import { forms } from '../../../protocol/wallet/message-grammar.ts'
import { CREDENTIAL_PARAMETERS } from '../client-credentials.ts'
import { forApi } from '../for-api.ts'
import { formParameters, parametersOf, requireParameter } from '../form-body.ts'
import type { HttpService } from '../service.ts'
import { readWait } from '../wait.ts'

const PATH = '/oauth/approvals'

const ASKED = [...CREDENTIAL_PARAMETERS, 'token', 'scope', 'key', 'summary', 'digest', 'wait'] as const
const USED = [...CREDENTIAL_PARAMETERS, 'approval_id', 'attempt'] as const
/** Credentials in the query are never read (RFC 6749 §2.3.1). */
const NO_CREDENTIALS = { client_id: null, client_secret: null, client_assertion: null, client_assertion_type: null }

export function approvalRoutes(server: FastifyInstance, service: HttpService): void {
  const { deps } = service
  server.addHook('preClose', async () => deps.approvalWaits.close())

  server.post(PATH, async (request, reply) => {
    const parameters = formParameters(request, ASKED)
    return forApi(service, { request, reply }, parameters, async (api) => {
      const [question, wait] = [questionOf(parameters), readWait(parameters.wait)]
      const asked = await askApproval(deps, api, question)
      // The user needs the link first.
      const { approval, state } = await waitFor(asked.approval, asked.isNew ? 0 : wait)
      return describeApproval(deps, approval, state)
    })
  })

  server.post(`${PATH}/use`, async (request, reply) => {
    const parameters = formParameters(request, USED)
    return forApi(service, { request, reply }, parameters, (api) =>
      useApproval(deps, api, {
        wireId: requireParameter(parameters.approval_id, 'approval_id'),
        attemptId: required(requireParameter(parameters.attempt, 'attempt'), isActionName, 'attempt_malformed'),
      }),
    )
  })

  server.get<{ Params: { id: string } }>(`${PATH}/:id`, async (request, reply) => {
    const { wait } = parametersOf(parseForm(queryOf(request.url)), ['wait'])
    return forApi(service, { request, reply }, NO_CREDENTIALS, async (api) => {
      const found = await readOwnApproval(deps, api, request.params.id)
      const { approval, state } = await waitFor(found, readWait(wait))
      const { scope, summary, digest } = approval
      const receipt = await readReceiptOf(deps, approval)
      return { ...describeApproval(deps, approval, state), scope, summary, digest, ...(receipt && { receipt }) }
    })
  })

  /** The approval with its state, which is read again after a wait of at most `seconds`. */
  async function waitFor(approval: Approval, seconds: number) {
    const state = await readState(deps, approval)
    if (state !== 'waiting' || seconds === 0) return { approval, state }
    await deps.approvalWaits.wait(approval, pauseFor(seconds * 1000, undefined, { ref: false }))
    const latest = (await deps.store.approvals.readApproval(approval)) ?? approval
    return { approval: latest, state: await readState(deps, latest) }
  }
}

function questionOf({
  token,
  scope,
  key,
  summary,
  digest,
}: Record<'token' | 'scope' | 'key' | 'summary' | 'digest', string | null>): Question {
  return {
    token: requireParameter(token, 'token'),
    scope: required(requireParameter(scope, 'scope'), isScope, 'approval_scope_malformed'),
    key: required(requireParameter(key, 'key'), isActionName, 'key_malformed'),
    summary: required(requireParameter(summary, 'summary'), isSummary, 'summary_malformed'),
    digest: required(requireParameter(digest, 'digest'), isDigest, 'digest_malformed'),
  }
}

const isScope = (text: string): boolean => forms.scope.test(text)
const isDigest = (text: string): boolean => forms.sha256.test(text)

function required(value: string, isValid: (text: string) => boolean, reason: ReasonOf<'invalid_request'>): string {
  if (isValid(value)) return value
  throw invalidRequest(reason, `${reason.replace('approval_', '').replace('_malformed', '')} is malformed.`)
}
