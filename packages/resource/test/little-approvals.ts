/** The approvals of a little issuer, in memory: the requests of an API, and the answers of a user. */
import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { basicCredentials } from '../src/introspection.ts'
import { type Answer, claimsOf, type LittleIssuer, LOST, ok } from './little-issuer.ts'

export const CREDENTIALS = { clientId: 'api', clientSecret: 'secret' }

type State = 'waiting' | 'signed' | 'declined' | 'expired' | 'used' | 'ended'
type Approval = { id: string; values: string; state: State; address: string; attempt?: string; usedAt?: number }

export interface LittleApprovals {
  /** The approvals by the key of the API. */
  byKey: Map<string, Approval>
  /** The answer of the user, or the end of the approval. */
  settle(key: string, state: State): void
  /** The next responses. If the list is empty, the issuer responds as the endpoint does. `lost after`: the endpoint serves the request, and the response is lost. */
  next: { ask: (Answer | typeof LOST)[]; use: (Answer | typeof LOST | 'lost after')[] }
  /** What the API sent, in order. */
  asked: Record<string, string>[]
  used: Record<string, string>[]
}

export const problem = (status: number, error: string, more: object = {}, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  json: { error, error_description: 'A sentence.', ...more },
})

/** Gives the issuer the two endpoints of approvals. */
export function addApprovals(issuer: LittleIssuer): LittleApprovals {
  const byKey = new Map<string, Approval>()
  const settled = new EventEmitter()
  const approvals: LittleApprovals = { byKey, next: { ask: [], use: [] }, asked: [], used: [], settle }

  function settle(key: string, state: State): void {
    const approval = byKey.get(key)
    if (!approval) throw new Error(`nothing was asked with the key ${key}`)
    approval.state = state
    settled.emit(key)
  }

  const isApi = (authorization: string | undefined) => authorization === basicCredentials(CREDENTIALS)

  async function ask({ form, authorization }: { form: URLSearchParams; authorization: string | undefined }) {
    const { token = '', key = '', wait = '0', ...values } = Object.fromEntries(form)
    approvals.asked.push(Object.fromEntries(form))
    const next = approvals.next.ask.shift()
    if (next) return next
    if (!isApi(authorization)) return problem(401, 'invalid_client')
    const { sub, scope } = claimsOf(token)
    const scopes = String(scope).split(' ')
    if (!scopes.includes(values.scope ?? '')) return problem(403, 'insufficient_scope')
    const written = JSON.stringify(values)
    const before = byKey.get(key)
    const approval = before ?? {
      id: randomBytes(32).toString('base64url'),
      values: written,
      state: 'waiting' as State,
      address: String(sub),
    }
    byKey.set(key, approval)
    if (approval.values !== written) return problem(409, 'key_used')
    if (before?.state === 'waiting' && wait !== '0')
      await once(settled, key, { signal: AbortSignal.timeout(Number(wait) * 1000) }).catch(() => {})
    return ok(described(issuer, approval))
  }

  async function use({ form, authorization }: { form: URLSearchParams; authorization: string | undefined }) {
    const { approval_id: id = '', attempt = '' } = Object.fromEntries(form)
    approvals.used.push({ id, attempt })
    const next = approvals.next.use.shift()
    if (next && next !== 'lost after') return next
    const answer = isApi(authorization) ? useOf(id, attempt) : problem(401, 'invalid_client')
    return next ? LOST : answer
  }

  function useOf(id: string, attempt: string): Answer {
    const approval = [...byKey.values()].find((each) => each.id === id)
    if (!approval) return problem(404, 'unknown_approval')
    if (approval.state === 'used' && approval.attempt !== attempt) return problem(409, 'already_used')
    if (approval.state !== 'used' && approval.state !== 'signed') return problem(403, 'not_approved', { state: approval.state })
    approval.state = 'used'
    approval.attempt = attempt
    approval.usedAt ??= issuer.clock.now
    const receipt = { message: 'the signed text', signature: '0x01', address: approval.address, chain_id: 1 }
    return ok({ approval_id: id, state: 'used', used_at: approval.usedAt, receipt })
  }

  issuer.approvals = { ask, use }
  return approvals
}

function described(issuer: LittleIssuer, { id, state }: Approval): object {
  const isOpen = state === 'waiting' || state === 'signed'
  return {
    approval_id: id,
    approval_uri: `${issuer.url}/approve/${id}`,
    user_code: 'WDJB-MJHT',
    state,
    expires_in: isOpen ? 600 : 0,
    interval: 5,
  }
}
