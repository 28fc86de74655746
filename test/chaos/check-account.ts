/** The part of the checker that holds a history to what was acknowledged about sessions and signed consents. Pure. */
import type { Violation } from './check-history.ts'
import { type Rules, settled } from './endings.ts'
import { type Asked, type Entry, precedes } from './history.ts'

/** I3 and I4: a session that was begun is there until it is ended. Runs are shorter than its life. */
export function sessionsOutOfPlace(history: readonly Entry[], rules: Rules): Violation[] {
  const sessions = new Sessions(history, rules)
  return history.flatMap((entry): Violation[] => {
    const { asked, told } = entry
    if (asked.op !== 'authorize') return []
    const [out] = sessions.acknowledgedEndings(entry, asked)
    if (told.kind === 'code' && out)
      return [{ invariant: 'I3', words: 'a session gave a code after it was ended', entries: [out, entry] }]
    // Where a consent must be signed, the login is for that as well.
    if (told.kind !== 'login' || rules.signed.has(asked.client)) return []
    const start = sessions.start(asked.session)
    if (!start || !precedes(start, entry) || sessions.mayBeOver(entry, asked)) return []
    return [{ invariant: 'I4', words: 'an acknowledged session is gone', entries: [start, entry] }]
  })
}

/** I3 and I4: a signed consent gives codes until its app, or everything, is ended; and without one there is none. */
export function consentsOutOfPlace(history: readonly Entry[], rules: Rules): Violation[] {
  const sessions = new Sessions(history, rules)
  const decisive = history.filter(({ asked }) => /^(sign_in|end_app|end_everything|change_owner)$/.test(asked.op))
  return history.flatMap((entry): Violation[] => {
    const { asked, told } = entry
    if (asked.op !== 'authorize' || !rules.signed.has(asked.client)) return []
    const { wallet, client } = asked
    const signed = decisive.filter(
      ({ asked, begin }) => asked.op === 'sign_in' && asked.wallet === wallet && asked.client === client && begin < entry.end,
    )
    const endings = decisive.filter(
      ({ asked, told, begin }) =>
        (asked.op === 'end_everything' || (asked.op === 'end_app' && asked.client === client)) &&
        asked.wallet === wallet &&
        told.kind !== 'refused' &&
        begin < entry.end,
    )
    if (told.kind === 'code') {
      const ended = endings.filter((each) => each.told.kind === 'done' && precedes(each, entry))
      const since = Math.max(...ended.map(({ begin }) => begin))
      if (signed.some((each) => settled(each, rules) > since)) return []
      return [
        {
          invariant: 'I3',
          words: 'a code without a consent, or under one that was withdrawn',
          entries: [...ended.slice(-1), entry],
        },
      ]
    }
    const changed = decisive.filter(
      ({ asked, begin }) => asked.op === 'change_owner' && asked.wallet === wallet && begin < entry.end,
    )
    const standing = signed.find(
      (each) =>
        each.told.kind === 'done' &&
        precedes(each, entry) &&
        ![...endings, ...changed].some((ending) => settled(ending, rules) > each.begin),
    )
    if (told.kind !== 'login' || !standing || sessions.mayBeOver(entry, asked)) return []
    return [{ invariant: 'I4', words: 'an acknowledged consent is gone', entries: [standing, entry] }]
  })
}

type Authorize = Extract<Asked, { op: 'authorize' }>

/** When each session began, and what ended it for certain, or may have. */
class Sessions {
  readonly #rules: Rules
  readonly #begun = new Map<string, Entry>()
  /** of each wallet */
  readonly #endings = new Map<string, Entry[]>()

  constructor(history: readonly Entry[], rules: Rules) {
    this.#rules = rules
    for (const entry of history) {
      const { asked, told } = entry
      if (asked.op === 'sign_in' && told.kind === 'done') this.#begun.set(asked.session, entry)
      if (!/^(sign_out|end_others|end_everything|change_owner)$/.test(asked.op) || !('wallet' in asked)) continue
      if (told.kind === 'refused') continue
      const known = this.#endings.get(asked.wallet)
      if (known) known.push(entry)
      else this.#endings.set(asked.wallet, [entry])
    }
  }

  start(session: string): Entry | undefined {
    return this.#begun.get(session)
  }

  /** Those that were over before `entry` was sent. */
  acknowledgedEndings(entry: Entry, asked: Authorize): Entry[] {
    const start = this.start(asked.session)
    return this.#endingsOf(asked).filter(
      (each) =>
        each.told.kind === 'done' &&
        // Nobody tells the service: a session goes when what was signed for it is found not to hold.
        each.asked.op !== 'change_owner' &&
        precedes(each, entry) &&
        (each.asked.op === 'sign_out' || (start !== undefined && precedes(start, each))),
    )
  }

  /** Whether anything may have ended it before `entry` was answered. */
  mayBeOver(entry: Entry, asked: Authorize): boolean {
    const since = this.start(asked.session)?.begin ?? 0
    return this.#endingsOf(asked).some((each) => each.begin < entry.end && settled(each, this.#rules) > since)
  }

  #endingsOf({ wallet, session }: Authorize): Entry[] {
    return (this.#endings.get(wallet) ?? []).filter(({ asked }) => {
      if (asked.op === 'sign_out') return asked.session === session
      if (asked.op === 'end_everything' || asked.op === 'change_owner') return true
      return asked.op === 'end_others' && asked.session !== session
    })
  }
}
