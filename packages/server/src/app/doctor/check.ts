/** The types of a check and of its findings. */
import type { Settings } from '../../config/settings.ts'
import type { ProbeAnswer } from '../../http/probe.ts'
import type { Answered } from './call.ts'

/** `unchecked`: the check was not possible, for example because the server is away. */
export type Verdict = 'ok' | 'warning' | 'wrong' | 'unchecked'

/** `remedy` is one sentence, and null if there is nothing to do. */
export type CheckResult = { verdict: Verdict; found: string; remedy: string | null }
export type Finding = CheckResult & { check: string }

export const ok = (found: string): CheckResult => ({ verdict: 'ok', found, remedy: null })
export const warning = (found: string, remedy: string): CheckResult => ({ verdict: 'warning', found, remedy })
export const wrong = (found: string, remedy: string): CheckResult => ({ verdict: 'wrong', found, remedy })
export const unchecked = (found: string, remedy: string): CheckResult => ({ verdict: 'unchecked', found, remedy })

export type Probable = ProbeAnswer['service']

/** The result of a probe through the proxies. `localPort`, `sentAt` and `takenMs` are of the request. */
export type Probed =
  | {
      answer: ProbeAnswer
      headers: Answered['headers']
      localPort: number
      sentAt: number
      takenMs: number
      /** false: the proxy does not accept an answer with long headers */
      acceptsLongAnswers: boolean
    }
  | { problem: string; mayBeTooLong: boolean }

export type Site = {
  settings: Settings<'serve'>
  env: Readonly<Record<string, string | undefined>>
  /** epoch seconds */
  now: () => number
  /** Sends the probe once for each server. All checks share the result. */
  probe(server: Probable): Promise<Probed>
}

export type Check = { name: string; run(site: Site): Promise<readonly CheckResult[]> }
