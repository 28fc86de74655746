/**
 * Clients whose id is the URL of a metadata document. Documents are fetched when a request names the id, and are kept in memory.
 *
 * Any caller can name any URL. So nothing is stored, the memory is bounded in entries and bytes, requests for one id share one fetch, a
 * failed fetch is not repeated for ten seconds, and each network and each host has a budget of fetches (`unregistered-budgets.ts`).
 */
import { createHash } from 'node:crypto'
import { isClientIdUrl } from '../../protocol/oauth/client-id-url.ts'
import { OAuthError, tooManyClientCalls } from '../../protocol/oauth/oauth-error.ts'
import type { ReasonOf } from '../../protocol/oauth/reasons.ts'
import type { UnknownReason } from '../model/clients.ts'
import type { ClientAnswer, FetchFromClient } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import type { OpenResources, Resources } from '../model/resources.ts'
import { cacheSeconds } from './cache-seconds.ts'
import { allowanceWith, type ClientMetadata, clientOfMetadata, readClientMetadata } from './client-metadata.ts'
import { type FetchCounts, requireFetchBudget } from './unregistered-budgets.ts'

/** Seconds for which a document is used without another fetch, whatever its headers say. */
const FRESH_FOR = { atLeast: 60, atMost: 3600, usual: 300 }
/** Seconds for which the last good copy serves the token endpoint if the document cannot be fetched. */
const KEPT_FOR = 86_400
/**
 * Seconds between two fetches of a document that could not be used. A response with a fault is not cached (Client ID Metadata Document §5.2), but a
 * caller must not be able to send requests to another host through this service as fast as it likes.
 */
const FETCHED_AGAIN_AFTER = 10
const DOCUMENTS_AT_MOST = 2_000
/** Characters of all documents in memory. */
const CHARACTERS_AT_MOST = 8_000_000
const FAILURES_AT_MOST = 20_000

export type MetadataPolicy = {
  /** whether ids on loopback are accepted, for development */
  allowLoopback: boolean
  /** whether the operator allows clients of this host */
  isHostAllowed(host: string): boolean
}

export type MetadataClientsOptions = {
  policy: MetadataPolicy
  /**
   * `again`: of documents of which a copy is in memory. Callers who name any number of new ids use up the calls of `first` alone, so the
   * clients in use do not wait.
   */
  fetch: { first: FetchFromClient; again: FetchFromClient }
  resources: Pick<Resources, 'openTo'>
  counts: FetchCounts
  now: () => number
}

/** `open`: the resources that `client` was made with. */
type KeptClient = { client: Client; open: OpenResources; fetchedAt: number; freshFor: number; size: number }
type DocumentFailure = UnknownReason & { until: number }

export class MetadataClients {
  readonly #options: MetadataClientsOptions
  /** the least recently used first */
  readonly #documents = new Map<string, KeptClient>()
  readonly #failures = new Map<string, DocumentFailure>()
  readonly #underWay = new Map<string, Promise<Client | null>>()
  #characters = 0

  constructor(options: MetadataClientsOptions) {
    this.#options = options
  }

  /** The client of a document that is fresh. */
  findCached(clientId: string): Client | undefined {
    const kept = this.#documents.get(clientId)
    return kept && this.#age(kept) < kept.freshFor ? this.#use(clientId, kept) : undefined
  }

  /** The client of a document that was fetched within a day. */
  lastGood(clientId: string): Client | null {
    const kept = this.#documents.get(clientId)
    return kept && this.#age(kept) < KEPT_FOR ? this.#use(clientId, kept) : null
  }

  /** Whether the operator's rules, which do not change while the process runs, allow the id. */
  isEnabled(clientId: string): boolean {
    // Only documents of allowed ids are kept.
    if (this.#documents.has(clientId)) return true
    const { allowLoopback, isHostAllowed } = this.#options.policy
    return isClientIdUrl(clientId, { allowLoopback }) && isHostAllowed(new URL(clientId).hostname)
  }

  whyUnknown(clientId: string): UnknownReason {
    const { allowLoopback } = this.#options.policy
    if (!isClientIdUrl(clientId, { allowLoopback })) return { reason: 'metadata_client_id_malformed' }
    if (!this.isEnabled(clientId)) return { reason: 'metadata_host_not_allowed' }
    const { reason = 'metadata_unavailable', cause = 'not_in_memory' } = this.#failures.get(hashOf(clientId)) ?? {}
    return { reason, cause }
  }

  /**
   * Fetches the document unless it is fresh, or failed a moment ago. `network`: see `Clients.findEnabled`. Null if the document cannot be
   * used, which ends the request (Client ID Metadata Document §5.1).
   */
  async load(clientId: string, network: string | null): Promise<Client | null> {
    const known = this.findCached(clientId)
    if (known || !this.isEnabled(clientId)) return known ?? null
    const failure = this.#failures.get(hashOf(clientId))
    if (failure && failure.until > this.#options.now() && failure.until <= this.#options.now() + FETCHED_AGAIN_AFTER) return null
    const fetching = this.#underWay.get(clientId)
    if (fetching) return fetching
    const isAgain = this.lastGood(clientId) !== null
    if (network !== null)
      requireFetchBudget(this.#options.counts, { url: clientId, network, inMemory: isAgain ? 'document' : null })
    const started = this.#fetch(clientId, isAgain).finally(() => this.#underWay.delete(clientId))
    this.#underWay.set(clientId, started)
    return started
  }

  /** As `load`. If the document cannot be fetched now, the last good copy of a day counts. */
  async loadOrLastGood(clientId: string, network: string | null): Promise<Client | null> {
    try {
      return (await this.load(clientId, network)) ?? this.lastGood(clientId)
    } catch (error) {
      const lastGood = error instanceof OAuthError ? this.lastGood(clientId) : null
      if (lastGood === null) throw error
      return lastGood
    }
  }

  async #fetch(clientId: string, isAgain: boolean): Promise<Client | null> {
    const { first, again } = this.#options.fetch
    const answer = await (isAgain ? again : first)({ url: clientId })
    // No request was sent, so this is no failure of the document.
    if (answer.kind === 'unavailable' && answer.why === 'busy') throw tooManyClientCalls()
    const metadata = readAnswer(clientId, answer)
    if (typeof metadata === 'string') {
      this.#noteFailure(clientId, metadata, causeOf(answer))
      return null
    }
    return this.#keep(clientId, metadata, answer)
  }

  #keep(clientId: string, metadata: ClientMetadata, answer: ClientAnswer): Client {
    this.#failures.delete(hashOf(clientId))
    this.#drop(clientId)
    const open = this.#options.resources.openTo('metadata')
    const client = clientOfMetadata(clientId, metadata, allowanceWith(open))
    const size = JSON.stringify(metadata).length
    const freshFor = cacheSeconds(answer.kind === 'answered' ? answer.headers : {}, FRESH_FOR)
    this.#documents.set(clientId, { client, open, fetchedAt: this.#options.now(), freshFor, size })
    this.#characters += size
    for (const oldest of this.#documents.keys()) {
      if (this.#documents.size <= DOCUMENTS_AT_MOST && this.#characters <= CHARACTERS_AT_MOST) break
      this.#drop(oldest)
    }
    return client
  }

  /**
   * The client with what it may request now: a resource may have changed since the document was fetched. The document becomes the most
   * recently used one, so that unknown ids do not evict documents in use.
   */
  #use(clientId: string, kept: KeptClient): Client {
    this.#documents.delete(clientId)
    this.#documents.set(clientId, kept)
    const open = this.#options.resources.openTo('metadata')
    if (kept.open !== open) Object.assign(kept, { open, client: { ...kept.client, ...allowanceWith(open) } })
    return kept.client
  }

  #drop(clientId: string): void {
    this.#characters -= this.#documents.get(clientId)?.size ?? 0
    this.#documents.delete(clientId)
  }

  #noteFailure(clientId: string, reason: ReasonOf<'invalid_client'>, cause: string): void {
    const key = hashOf(clientId)
    this.#failures.delete(key)
    this.#failures.set(key, { reason, cause, until: this.#options.now() + FETCHED_AGAIN_AFTER })
    for (const oldest of this.#failures.keys()) {
      if (this.#failures.size <= FAILURES_AT_MOST) break
      this.#failures.delete(oldest)
    }
  }

  /** The absolute difference: if the clock jumps back, no document stays fresh for too long. */
  #age({ fetchedAt }: KeptClient): number {
    return Math.abs(this.#options.now() - fetchedAt)
  }
}

/** Client ID Metadata Document §5: status 200 and a JSON type; all else is an error, redirects too. */
function readAnswer(clientId: string, answer: ClientAnswer): ClientMetadata | ReasonOf<'invalid_client'> {
  if (answer.kind === 'unavailable') return 'metadata_unavailable'
  if (answer.status !== 200) return 'metadata_status'
  const type = answer.headers['content-type'] ?? ''
  if (!/^application\/(?:[a-z0-9!#$&^_.+-]{1,100}\+)?json(?:\s*;|\s*$)/i.test(type)) return 'metadata_type'
  return readClientMetadata(clientId, answer.body)
}

/** For the log. Contains nothing of the response but its status. */
function causeOf(answer: ClientAnswer): string {
  return answer.kind === 'unavailable' ? answer.why : `status_${answer.status}`
}

/** A short key that does not keep the text of the request in memory. */
function hashOf(clientId: string): string {
  return createHash('sha256').update(clientId).digest('base64url').slice(0, 22)
}
