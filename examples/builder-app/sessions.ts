import { randomBytes } from 'node:crypto'
import type { StepReport } from './report.ts'

/** Tokens as the app keeps them: on its server, never in the browser. */
export interface Tokens {
  accessToken: string
  refreshToken: string | undefined
  scope: string
  /** Epoch seconds. */
  expiresAt: number
}

/** A sign-in that was sent off and has not come back. */
export interface Attempt {
  codeVerifier: string
  sent: URL
  /** Milliseconds of a clock that only goes forward. */
  startedAt: number
}

export type StepName = 'sign-in' | 'exchange' | 'call-api' | 'refresh' | 'introspect' | 'revoke'

export interface DemoSession {
  id: string
  /** By `state`: several tabs may sign in at once. */
  attempts: Map<string, Attempt>
  tokens: Tokens | undefined
  /** The latest report of each step; the one made last stands last. */
  reports: Map<StepName, StepReport>
  /** How often this browser signed in, and how long the latest round trip took, in seconds. */
  signIns: number
  roundTrip: number
  /** Shown once, on the next page. */
  notice: StepReport | undefined
  /** Steps of one browser run one after the other: two refreshes at once would use one token twice. */
  turn: Promise<unknown>
}

const sessionsKept = 1_000
const attemptsKept = 5

/** The demo's sessions, in memory and bounded: the oldest gives way. A real app keeps them in a database. */
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
    /** A new id for the same session, so that an id planted before a sign-in is worth nothing after it. */
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

/** Keeps a step's report in place of its earlier one. */
export function keepReport(session: DemoSession, name: StepName, report: StepReport): void {
  session.reports.delete(name)
  session.reports.set(name, report)
}

export function rememberAttempt(session: DemoSession, state: string, attempt: Attempt): void {
  session.attempts.set(state, attempt)
  dropOldest(session.attempts, attemptsKept)
}

/** Maps keep the order of insertion. */
function dropOldest(map: Map<string, unknown>, kept: number): void {
  for (const key of map.keys()) {
    if (map.size <= kept) return
    map.delete(key)
  }
}
