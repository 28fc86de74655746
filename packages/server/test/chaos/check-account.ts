/** The part of the checker for sessions and signed consents. Pure. */
import { type Rules, settledAt } from './endings.ts'
import { type Entry, precedes, type RecordedRequest, type Violation } from './history.ts'

/** I3 and I4: a session is valid until it is ended, and not afterwards. A run is shorter than the lifetime of a session. */
export function sessionViolations(history: readonly Entry[], rules: Rules): Violation[] {
  const sessions = new Sessions(history, rules)
  return history.flatMap((entry): Violation[] => {
    const { request, response } = entry
    if (request.op !== 'authorize') return []
    const [ending] = sessions.acknowledgedEndings(entry, request)
    if (response.kind === 'code' && ending)
      return [{ invariant: 'I3', words: 'a session gave a code after it was ended', entries: [ending, entry] }]
    // If the app needs a signed consent, a login does not show that the session is missing.
    if (response.kind !== 'login' || rules.signed.has(request.client)) return []
    const start = sessions.start(request.session)
    if (!start || !precedes(start, entry) || sessions.mayHaveEnded(entry, request)) return []
    return [{ invariant: 'I4', words: 'an acknowledged session is gone', entries: [start, entry] }]
  })
}

/**
 * I3 and I4: a signed consent gives codes until its app, or everything, is ended, and while it is among the newest `rules.receiptsRead` of its wallet at the app.
 * Without a signed consent there is no code.
 */
export function consentViolations(history: readonly Entry[], rules: Rules): Violation[] {
  const sessions = new Sessions(history, rules)
  const decisive = history.filter(({ request }) => /^(sign_in|sign_limit|end_app|end_everything|change_owner)$/.test(request.op))
  return history.flatMap((entry): Violation[] => {
    const { request, response } = entry
    if (request.op !== 'authorize' || !rules.signed.has(request.client)) return []
    const { wallet, client } = request
    const signed = decisive.filter(
      ({ request, begin }) =>
        request.op === 'sign_in' && request.wallet === wallet && request.client === client && begin < entry.end,
    )
    const endings = decisive.filter(
      ({ request, response, begin }) =>
        (request.op === 'end_everything' || (request.op === 'end_app' && request.client === client)) &&
        request.wallet === wallet &&
        response.kind !== 'refused' &&
        begin < entry.end,
    )
    if (response.kind === 'code') {
      const ended = endings.filter((each) => each.response.kind === 'done' && precedes(each, entry))
      const since = Math.max(...ended.map(({ begin }) => begin))
      if (signed.some((each) => settledAt(each, rules) > since)) return []
      return [
        {
          invariant: 'I3',
          words: 'a code without a consent, or under one that was withdrawn',
          entries: [...ended.slice(-1), entry],
        },
      ]
    }
    const changed = decisive.filter(
      ({ request, begin }) => request.op === 'change_owner' && request.wallet === wallet && begin < entry.end,
    )
    const newerThan = ({ begin: since }: Entry) =>
      decisive.filter(
        ({ request, begin, end }) =>
          (request.op === 'sign_in' || request.op === 'sign_limit') &&
          request.wallet === wallet &&
          request.client === client &&
          end > since &&
          begin < entry.end,
      ).length - 1
    const valid = signed.find(
      (each) =>
        each.response.kind === 'done' &&
        precedes(each, entry) &&
        newerThan(each) < rules.receiptsRead &&
        ![...endings, ...changed].some((ending) => settledAt(ending, rules) > each.begin),
    )
    if (response.kind !== 'login' || !valid || sessions.mayHaveEnded(entry, request)) return []
    return [{ invariant: 'I4', words: 'an acknowledged consent is gone', entries: [valid, entry] }]
  })
}

type Authorize = Extract<RecordedRequest, { op: 'authorize' }>

/** The start of each session, and the entries that ended it or may have ended it. */
class Sessions {
  readonly #rules: Rules
  readonly #begun = new Map<string, Entry>()
  /** by wallet */
  readonly #endings = new Map<string, Entry[]>()

  constructor(history: readonly Entry[], rules: Rules) {
    this.#rules = rules
    for (const entry of history) {
      const { request, response } = entry
      if (request.op === 'sign_in' && response.kind === 'done') this.#begun.set(request.session, entry)
      if (!/^(sign_out|end_others|end_everything|change_owner)$/.test(request.op) || !('wallet' in request)) continue
      if (response.kind === 'refused') continue
      const known = this.#endings.get(request.wallet)
      if (known) known.push(entry)
      else this.#endings.set(request.wallet, [entry])
    }
  }

  start(session: string): Entry | undefined {
    return this.#begun.get(session)
  }

  /** The acknowledged endings of the session that were complete before `entry` was sent. */
  acknowledgedEndings(entry: Entry, request: Authorize): Entry[] {
    const start = this.start(request.session)
    return this.#endingsOf(request).filter(
      (each) =>
        each.response.kind === 'done' &&
        // The service is not notified of a transfer. The session ends when the service next checks its signature.
        each.request.op !== 'change_owner' &&
        precedes(each, entry) &&
        (each.request.op === 'sign_out' || (start !== undefined && precedes(start, each))),
    )
  }

  /** Whether any entry may have ended the session before the response to `entry`. */
  mayHaveEnded(entry: Entry, request: Authorize): boolean {
    const since = this.start(request.session)?.begin ?? 0
    return this.#endingsOf(request).some((each) => each.begin < entry.end && settledAt(each, this.#rules) > since)
  }

  #endingsOf({ wallet, session }: Authorize): Entry[] {
    return (this.#endings.get(wallet) ?? []).filter(({ request }) => {
      if (request.op === 'sign_out') return request.session === session
      if (request.op === 'end_everything' || request.op === 'change_owner') return true
      return request.op === 'end_others' && request.session !== session
    })
  }
}
