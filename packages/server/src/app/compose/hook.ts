/** The hook of the operator; null if the settings name none. */
import { createHook, HOOK_OUTCOMES, type HookParts } from '../../domain/hook/hook.ts'
import { HOOK_OCCASIONS, type Hook, type Lifetimes, type ServiceSettings } from '../../domain/model/deps.ts'
import { CONSOLE_CLIENT_ID } from '../../domain/operators/console-client.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import type { Tracing } from '../../observability/metrics/tracing.ts'
import { createFetchFromClient } from '../../outbound/http/fetch-from-client.ts'
import { traceFetch } from './traced-calls.ts'

export type HookSettings = { url: string; secrets: readonly Uint8Array[]; timeoutMs: number }

/** Bytes of an answer. A client has at most a few dozen scopes. */
const ANSWER_AT_MOST = 8_192

type HookPartSettings = {
  hook: HookSettings | null
  service: Pick<ServiceSettings, 'authUrl'> & { lifetimes: Pick<Lifetimes, 'refreshRetryWindow'> }
}

type HookOptions = Pick<HookParts, 'audit' | 'now'> & {
  metrics: Pick<Metrics, 'countHookQuestion' | 'expectHookQuestions' | 'observeHookCall'> | undefined
  tracing: Tracing | undefined
  ca: string | undefined
}

export function composeHook({ hook, service }: HookPartSettings, { metrics, tracing, ca, ...parts }: HookOptions): Hook | null {
  if (hook === null) return null
  metrics?.expectHookQuestions(HOOK_OCCASIONS, HOOK_OUTCOMES)
  const post = createHookPost(hook, { tracing, ca })
  return createHook({
    ...parts,
    issuer: service.authUrl,
    secrets: hook.secrets,
    retryWindow: service.lifetimes.refreshRetryWindow,
    async post(json) {
      const began = performance.now()
      const response = await post(json)
      metrics?.observeHookCall((performance.now() - began) / 1000)
      return response
    },
    count: (occasion, outcome) => metrics?.countHookQuestion(occasion, outcome),
    // An operator must be able to sign in to the console while the hook does not respond. The roles of the operators decide there.
    exempt: [CONSOLE_CLIENT_ID],
  })
}

/** One POST to the hook. No connection is kept: the hook could close it at the moment of the next question, which is not repeated. */
export function createHookPost(
  { url, timeoutMs }: Pick<HookSettings, 'url' | 'timeoutMs'>,
  { tracing, ca }: { tracing?: Tracing | undefined; ca?: string | undefined },
): HookParts['post'] {
  const options = { allowLoopback: false, isOfOperator: true, timeoutMs, bodyAtMost: ANSWER_AT_MOST }
  // `domain/hook/places.ts` limits the calls.
  const fetch = createFetchFromClient({ ...options, concurrency: Number.POSITIVE_INFINITY, ...(ca === undefined ? {} : { ca }) })
  const traced = traceFetch(fetch, tracing, 'call of the hook')
  return (json) => traced({ url, json })
}
