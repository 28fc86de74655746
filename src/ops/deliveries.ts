/**
 * Notices to clients, brought to them beside everything else the service does: nobody waits for one, a client that does not
 * answer is tried again a few times, and each notice ends in a line of the log. They are kept in memory only: those not
 * delivered yet are lost with the process.
 */
import { randomInt } from 'node:crypto'

export type Notice = { clientId: string; url: string; form: Record<string, string> }

type Answer = { kind: 'answered'; status: number } | { kind: 'unavailable'; why: string }

export type DeliveryOptions = {
  /** one POST; does not throw */
  call: (call: Pick<Notice, 'url' | 'form'>) => Promise<Answer>
  /** told how each one ended; `why` where it did not arrive. Without a client: the notices could not even be made */
  note: (outcome: { delivered: boolean; clientId?: string; why?: string }) => void
  /** seconds before each try, about; four tries within the two minutes that a logout token is good for, unless set */
  pauses?: readonly number[]
}

export type Deliveries = {
  /** Brings what `prepare` finds, which is asked again too where it fails. Returns at once. */
  add(prepare: () => Promise<Notice[]>): void
  /** Lets what is under way come to its end, and gives up the rest. */
  stop(): Promise<void>
}

const USUAL_PAUSES = [0, 2, 10, 40]
const AT_ONCE = 16
/** More than that wait for clients that all hang: then the newest are let go. */
const WAITING_AT_MOST = 1000

type Try = 'done' | { again: string } | { failed: string }

export function createDeliveries({ call, note, pauses = USUAL_PAUSES }: DeliveryOptions): Deliveries {
  const waiting: (() => Promise<void>)[] = []
  const underWay = new Set<Promise<void>>()
  const stopping = new AbortController()

  /** Takes its turn for each try, and leaves it to others while it waits for the next one. */
  async function insist(attempt: () => Promise<Try>, clientId?: string): Promise<void> {
    const of = clientId === undefined ? {} : { clientId }
    let why = 'stopped'
    for (const pause of pauses) {
      await wait(pause * (0.5 + randomInt(1000) / 1000), stopping.signal)
      if (stopping.signal.aborted) break
      const outcome = await inTurn(attempt)
      if (outcome === 'done') {
        if (clientId !== undefined) note({ delivered: true, ...of })
        return
      }
      why = 'again' in outcome ? outcome.again : outcome.failed
      if ('failed' in outcome) break
    }
    note({ delivered: false, ...of, why })
  }

  function inTurn(attempt: () => Promise<Try>): Promise<Try> {
    if (waiting.length >= WAITING_AT_MOST) return Promise.resolve({ failed: 'too_many_waiting' })
    return new Promise((resolve) => {
      waiting.push(() => attempt().then(resolve, () => resolve({ again: 'could_not_be_made' })))
      next()
    })
  }

  function next(): void {
    if (underWay.size >= AT_ONCE) return
    const run = waiting.shift()
    if (!run) return
    const running = run().finally(() => {
      underWay.delete(running)
      next()
    })
    underWay.add(running)
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
      void insist(async () => {
        for (const notice of await prepare()) void insist(() => deliver(notice), notice.clientId)
        return 'done'
      })
    },
    async stop() {
      stopping.abort()
      await Promise.all(underWay)
    },
  }
}

/** Unreferenced: a notice keeps no process alive. */
function wait(seconds: number, signal: AbortSignal): Promise<void> {
  if (seconds === 0 || signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, seconds * 1000).unref()
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
}
