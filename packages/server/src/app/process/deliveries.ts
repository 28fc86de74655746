/**
 * Notices to clients, sent in the background. A request does not wait for its notices. If a client does not respond, a
 * few more attempts follow, and each notice ends with a log line. Notices are kept in memory only. A process that stops
 * sends them first, without the pauses between attempts; a process that is killed loses them.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as pauseFor } from 'node:timers/promises'
import { createCallQueue } from './call-queue.ts'

export type LogoutNotice = { clientId: string; url: string; form: Record<string, string> }

type DeliveryAnswer = { kind: 'answered'; status: number } | { kind: 'unavailable'; why: string }

export type DeliveryOptions = {
  /** one POST; does not throw */
  call: (call: Pick<LogoutNotice, 'url' | 'form'>) => Promise<DeliveryAnswer>
  /** reports the result of each notice; `why` if it was not delivered. Without a client: the notices could not be prepared */
  note: (outcome: { delivered: boolean; clientId?: string; why?: string }) => void
  /**
   * seconds before each attempt, approximately; unless set, four attempts within the two minutes for which a logout
   * token is valid
   */
  pauses?: readonly number[] | undefined
  /** seconds that `stop` may take; 3.5 unless set: enough for one call that hangs, which ends after three */
  stopWithin?: number
}

export type Deliveries = {
  /** Delivers the notices that `prepare` returns. If `prepare` fails, it is called again. Returns at once. */
  add(prepare: () => Promise<LogoutNotice[]>): void
  /** Gives each notice at most one more attempt, at once. Notices that are unfinished when the time is over are given up. */
  stop(): Promise<void>
}

const USUAL_PAUSES = [0, 2, 10, 40]
const AT_ONCE = 16
/** More calls than this are only waiting if all clients hang: then the newest are dropped. */
const WAITING_AT_MOST = 1000

type AttemptOutcome = 'done' | { again: string } | { failed: string }

export function createDeliveries({ call, note, pauses = USUAL_PAUSES, stopWithin = 3.5 }: DeliveryOptions): Deliveries {
  const queue = createCallQueue<AttemptOutcome>({
    atOnce: AT_ONCE,
    waitingAtMost: WAITING_AT_MOST,
    onStop: { failed: 'stopped' },
    onOverflow: { failed: 'too_many_waiting' },
  })
  const unfinished = new Set<Promise<void>>()
  const stopping = new AbortController()

  function deliverWithRetries(attempt: () => Promise<AttemptOutcome>, clientId?: string): void {
    const delivering = attemptRepeatedly(attempt, clientId).finally(() => unfinished.delete(delivering))
    unfinished.add(delivering)
  }

  /** Queues each attempt. Between attempts, a notice takes no place in the queue. */
  async function attemptRepeatedly(attempt: () => Promise<AttemptOutcome>, clientId?: string): Promise<void> {
    const of = clientId === undefined ? {} : { clientId }
    let why = ''
    for (const [tries, pause] of pauses.entries()) {
      await wait(pause * (0.5 + randomInt(1000) / 1000), stopping.signal)
      const isLast = stopping.signal.aborted && tries > 0
      const outcome = await queue.run(attempt).catch((): AttemptOutcome => ({ again: 'could_not_be_made' }))
      if (outcome === 'done') {
        if (clientId !== undefined) note({ delivered: true, ...of })
        return
      }
      why = 'again' in outcome ? outcome.again : outcome.failed
      if ('failed' in outcome || isLast) break
    }
    note({ delivered: false, ...of, why })
  }

  return {
    add(prepare) {
      deliverWithRetries(async () => {
        for (const notice of await prepare())
          deliverWithRetries(async () => outcomeOf(await call(requestOf(notice))), notice.clientId)
        return 'done'
      })
    },
    async stop() {
      stopping.abort()
      const deadline = setTimeout(queue.stop, stopWithin * 1000)
      // A prepared notice may have added further ones.
      while (unfinished.size > 0) await Promise.all(unfinished)
      clearTimeout(deadline)
    },
  }
}

function requestOf({ url, form }: LogoutNotice): Pick<LogoutNotice, 'url' | 'form'> {
  return { url, form }
}

function outcomeOf(answer: DeliveryAnswer): AttemptOutcome {
  if (answer.kind === 'unavailable') return { again: answer.why }
  if (answer.status >= 200 && answer.status < 300) return 'done'
  // Back-Channel Logout §2.8: 400 if the client could not log out; another attempt would give the same response
  const isFinal = answer.status < 500 && answer.status !== 429
  return isFinal ? { failed: `status_${answer.status}` } : { again: `status_${answer.status}` }
}

/** Unreferenced: a notice does not keep the process alive. Resolves early if the signal aborts. */
async function wait(seconds: number, signal: AbortSignal): Promise<void> {
  if (seconds > 0 && !signal.aborted) await pauseFor(seconds * 1000, undefined, { ref: false, signal }).catch(() => undefined)
}
