/**
 * The sequential specification of one grant: what each request does and gets if requests run one after the other. `npm run test:model`
 * compares the specification with the model in packages/server/test/model/ledger.pml. Pure.
 */

/** `unused`: the code was issued. `ended`: the grant has ended, or its code is void. */
export type State = {
  phase: 'none' | 'unused' | 'active' | 'ended'
  /** the refresh token that is valid, and the one before it */
  current: string
  previous: string
  /** the revoked access tokens, sorted */
  revoked: readonly string[]
}

/** A request and its outcome. `unknown`: the request got no response, so it may have taken effect or not. */
export type Step =
  | { op: 'issue' }
  /** ends the grant, or voids its code */
  | { op: 'end'; outcome: 'done' | 'unknown' }
  /** voids the code, but does not end a grant */
  | { op: 'void'; outcome: 'done' | 'unknown' }
  | { op: 'redeem'; outcome: 'refused' | 'unknown' }
  | { op: 'redeem'; outcome: 'tokens'; successor: string }
  /** `isLate`: the retry window of the token may have ended */
  | { op: 'refresh'; token: string; outcome: 'refused' | 'unknown'; isLate: boolean }
  | { op: 'refresh'; token: string; outcome: 'tokens'; successor: string }
  /** of an access token that a client has received */
  | { op: 'introspect'; token: string; outcome: 'active' | 'inactive' }
  /** of an access token */
  | { op: 'revoke'; token: string; outcome: 'done' | 'unknown' }

/** A refresh token that no client has received, because the response with it was lost. */
const UNKNOWN = '?'

export const START: State = { phase: 'none', current: '', previous: '', revoked: [] }
const UNUSED: State = { ...START, phase: 'unused' }
const ENDED: State = { ...START, phase: 'ended' }

/** The states after a step. No state: the request cannot have this outcome in this state. */
export function next(state: State, step: Step): readonly State[] {
  if ('outcome' in step && step.outcome === 'unknown') return [state, ...effectsOf(state, step)]
  switch (step.op) {
    case 'issue':
      return state.phase === 'none' ? [UNUSED] : []
    case 'end':
      return [state.phase === 'none' ? state : ENDED]
    case 'void':
      return [state.phase === 'unused' ? ENDED : state]
    case 'redeem':
      return redeem(state, step)
    case 'refresh':
      return refresh(state, step)
    case 'introspect': {
      if (state.phase === 'none' || state.phase === 'unused') return []
      const isActive = state.phase === 'active' && !state.revoked.includes(step.token)
      return isActive === (step.outcome === 'active') ? [state] : []
    }
    case 'revoke':
      return revoke(state, step.token)
  }
}

/** What a request without a response may have changed. */
function effectsOf(state: State, step: Step): readonly State[] {
  if (step.op === 'redeem' && state.phase === 'unused') return [{ ...state, phase: 'active', current: UNKNOWN }]
  // A code that is used again ends the grant, unless the code has expired meanwhile.
  if (step.op === 'redeem') return state.phase === 'active' ? [ENDED] : []
  if (step.op !== 'refresh') return next(state, { ...step, outcome: 'done' } as Step)
  if (state.phase !== 'active') return []
  if (state.current === step.token) return [{ ...state, current: UNKNOWN, previous: step.token }]
  return refresh(state, { ...step, outcome: 'refused', isLate: step.outcome !== 'tokens' && step.isLate })
}

function redeem(state: State, step: Extract<Step, { op: 'redeem' }>): readonly State[] {
  if (step.outcome === 'tokens') return state.phase === 'unused' ? [{ ...state, phase: 'active', current: step.successor }] : []
  // RFC 6749 §4.1.2: a code that is used again ends the grant.
  return state.phase === 'active' || state.phase === 'ended' ? [ENDED] : []
}

function refresh(state: State, step: Extract<Step, { op: 'refresh' }>): readonly State[] {
  const { phase, current, previous } = state
  if (step.outcome !== 'tokens') {
    if (phase === 'ended') return [state]
    const isReplay = step.token !== previous || step.isLate
    return phase === 'active' && step.token !== current && isReplay ? [ENDED] : []
  }
  if (phase !== 'active') return []
  if (step.token === current) return [{ ...state, current: step.successor, previous: step.token }]
  if (step.token !== previous) return []
  // A retry: the successor is the one that was made before.
  if (current === UNKNOWN) return [{ ...state, current: step.successor }]
  return current === step.successor ? [state] : []
}

function revoke(state: State, token: string): readonly State[] {
  if (state.phase !== 'active') return state.phase === 'ended' ? [state] : []
  return state.revoked.includes(token) ? [state] : [{ ...state, revoked: [...state.revoked, token].sort() }]
}
