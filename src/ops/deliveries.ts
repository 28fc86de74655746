/**
 * Notices to clients, brought to them beside everything else the service does: nobody waits for one, a client that does not
 * answer is tried again a few times, and each notice ends in a line of the log. They are kept in memory only: a process that
 * is told to stop brings them first, without the pauses between the tries; one that is killed loses them.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as pauseFor } from 'node:timers/promises'

export type Notice = { clientId: string; url: string; form: Record<string, string> }

type Answer = { kind: 'answered'; status: number } | { kind: 'unavailable'; why: string }

export type DeliveryOptions = {
  /** one POST; does not throw */
  call: (call: Pick<Notice, 'url' | 'form'>) => Promise<Answer>
  /** told how each one ended; `why` where it did not arrive. Without a client: the notices could not even be made */
  note: (outcome: { delivered: boolean; clientId?: string; why?: string }) => void
  /** seconds before each try, about; four tries within the two minutes that a logout token is good for, unless set */
  pauses?: readonly number[]
  /** seconds that `stop` may take; 3.5 unless set: enough for one call that hangs, which ends after three */
  stopWithin?: number
}

export type Deliveries = {
  /** Brings what `prepare` finds, which is asked again too where it fails. Returns at once. */
  add(prepare: () => Promise<Notice[]>): void
  /** Lets each come to its end with no more than one further try, at once; what is left when the time is over is given up. */
  stop(): Promise<void>
}

const USUAL_PAUSES = [0, 2, 10, 40]
const AT_ONCE = 16
/** More than that wait for clients that all hang: then the newest are let go. */
const WAITING_AT_MOST = 1000

type Try = 'done' | { again: string } | { failed: string }

export function createDeliveries({ call, note, pauses = USUAL_PAUSES, stopWithin = 3.5 }: DeliveryOptions): Deliveries {
  const waiting: (() => Promise<void>)[] = []
  const unfinished = new Set<Promise<void>>()
  const stopping = new AbortController()
  /** one for each try that waits for its turn or has it */
  const givingUp = new Set<() => void>()
  let gaveUp = false
  let underWay = 0

  function insist(attempt: () => Promise<Try>, clientId?: string): void {
    const insisting = tryAndTryAgain(attempt, clientId).finally(() => unfinished.delete(insisting))
    unfinished.add(insisting)
  }

  /** Takes its turn for each try, and leaves it to others while it waits for the next one. */
  async function tryAndTryAgain(attempt: () => Promise<Try>, clientId?: string): Promise<void> {
    const of = clientId === undefined ? {} : { clientId }
    let why = ''
    for (const [tries, pause] of pauses.entries()) {
      await wait(pause * (0.5 + randomInt(1000) / 1000), stopping.signal)
      const isLast = stopping.signal.aborted && tries > 0
      const outcome = await inTurn(attempt)
      if (outcome === 'done') {
        if (clientId !== undefined) note({ delivered: true, ...of })
        return
      }
      why = 'again' in outcome ? outcome.again : outcome.failed
      if ('failed' in outcome || isLast) break
    }
    note({ delivered: false, ...of, why })
  }

  function inTurn(attempt: () => Promise<Try>): Promise<Try> {
    if (gaveUp) return Promise.resolve({ failed: 'stopped' })
    if (waiting.length >= WAITING_AT_MOST) return Promise.resolve({ failed: 'too_many_waiting' })
    return new Promise((resolve) => {
      const settle = (outcome: Try): void => {
        givingUp.delete(giveUp)
        resolve(outcome)
      }
      // Nobody knows whether a call that is under way then still arrives: it counts as lost.
      const giveUp = (): void => settle({ failed: 'stopped' })
      givingUp.add(giveUp)
      waiting.push(() => attempt().then(settle, () => settle({ again: 'could_not_be_made' })))
      next()
    })
  }

  function next(): void {
    if (underWay >= AT_ONCE || gaveUp) return
    const run = waiting.shift()
    if (!run) return
    underWay++
    void run().finally(() => {
      underWay--
      next()
    })
  }

  async function deliver({ url, form }: Notice): Promise<Try> {
    const answer = await call({ url, form })
    if (answer.kind === 'unavailable') return { again: answer.why }
    if (answer.status >= 200 && answer.status < 300) return 'done'
    // Back-Channel Logout §2.8: 400 where the client could not log out; it will say the same again
    return answer.status < 500 && answer.status !== 429
      ? { failed: `status_${answer.status}` }
      : { again: `status_${answer.status}` }
  }

  return {
    add(prepare) {
      insist(async () => {
        for (const notice of await prepare()) insist(() => deliver(notice), notice.clientId)
        return 'done'
      })
    },
    async stop() {
      stopping.abort()
      const deadline = setTimeout(() => {
        gaveUp = true
        for (const giveUp of givingUp) giveUp()
      }, stopWithin * 1000)
      // What is being made may be several more.
      while (unfinished.size > 0) await Promise.all(unfinished)
      clearTimeout(deadline)
    },
  }
}

/** Unreferenced: a notice keeps no process alive. Ends early, and well, where the signal says so. */
async function wait(seconds: number, signal: AbortSignal): Promise<void> {
  if (seconds > 0 && !signal.aborted) await pauseFor(seconds * 1000, undefined, { ref: false, signal }).catch(() => undefined)
}
