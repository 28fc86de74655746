import { randomBytes } from 'node:crypto'
import type { StepReport } from './report.ts'

/** The tokens of a session, which are on the app's server and never in the browser. */
export interface Tokens {
  accessToken: string
  refreshToken: string | undefined
  scope: string
  /** Epoch seconds. */
  expiresAt: number
}

/** A sign-in whose browser has not returned yet. */
export interface Attempt {
  codeVerifier: string
  sent: URL
  /** Milliseconds of a monotonic clock. */
  startedAt: number
}

export type StepName = 'sign-in' | 'exchange' | 'call-api' | 'refresh' | 'introspect' | 'revoke'

export interface DemoSession {
  id: string
  /** By `state`: several tabs may sign in at once. */
  attempts: Map<string, Attempt>
  tokens: Tokens | undefined
  /** The latest report of each step, in the order in which they were made. */
  reports: Map<StepName, StepReport>
  /** How often this browser signed in, and how long the latest round trip took, in seconds. */
  signIns: number
  roundTrip: number
  /** Shown once, on the next page. */
  notice: StepReport | undefined
  /** Settles after the last step. The steps of one browser run one at a time: two refreshes at once would use one token twice. */
  turn: Promise<unknown>
}

const sessionsKept = 1_000
const attemptsKept = 5

/** The sessions of the demo, in bounded memory: a new session replaces the oldest. A real app keeps sessions in a database. */
export function createSessions() {
  const sessions = new Map<string, DemoSession>()

  return {
    open(): DemoSession {
      const session: DemoSession = {
        id: randomId(),
        attempts: new Map(),
        tokens: undefined,
        reports: new Map(),
        signIns: 0,
        roundTrip: 0,
        notice: undefined,
        turn: Promise.resolve(),
      }
      sessions.set(session.id, session)
      dropOldest(sessions, sessionsKept)
      return session
    },
    find: (id: string | undefined) => (id === undefined ? undefined : sessions.get(id)),
    /** Gives the session a new id, so that an id that an attacker set before the sign-in gives no access (session fixation). */
    renew(session: DemoSession): void {
      sessions.delete(session.id)
      session.id = randomId()
      sessions.set(session.id, session)
    },
    end: (session: DemoSession) => void sessions.delete(session.id),
  }
}

function randomId(): string {
  return randomBytes(32).toString('base64url')
}

/** Replaces the earlier report of a step. */
export function keepReport(session: DemoSession, name: StepName, report: StepReport): void {
  session.reports.delete(name)
  session.reports.set(name, report)
}

export function rememberAttempt(session: DemoSession, state: string, attempt: Attempt): void {
  session.attempts.set(state, attempt)
  dropOldest(session.attempts, attemptsKept)
}

/** A Map keeps the order of insertion, so its first keys are the oldest. */
function dropOldest(map: Map<string, unknown>, kept: number): void {
  for (const key of map.keys()) {
    if (map.size <= kept) return
    map.delete(key)
  }
}
