/**
 * The keys in use, by what they are for. A key makes from `startsAt` on until a younger one of its kind starts;
 * it opens what it made until it is retired. An id that is not in the ring is a forgery and costs no I/O, unless the stored
 * keys could not be read lately: then it may name a new key.
 */
import type { KeyObject } from 'node:crypto'
import type { SigningAlgorithm } from './signing-key.ts'
import { VerifiedTokens } from './verified-tokens.ts'

/**
 * `sign`: access tokens, in the algorithm that is set. `sign_…`: ID tokens and other statements to a client that wants them in
 * another algorithm; access tokens never. There is a key of each kind, so that an algorithm can be advertised and the algorithm of
 * access tokens can change without a gap.
 */
export type SigningKind = 'sign' | 'sign_es256' | 'sign_rs256' | 'sign_eddsa'

/** `seal`: codes, challenges and other sealed texts. `mac`: refresh tokens and session ids. */
export type KeyKind = SigningKind | 'seal' | 'mac'

/** A key as the store keeps it. Its material is wrapped by the key-encryption key and bound to `id` and `kind`. */
export type KeyRecord = {
  id: string
  kind: KeyKind
  /** counts within its kind from 1; unique, so that two nodes cannot both make "the next one" */
  number: number
  algorithm: SigningAlgorithm | 'AES-256-GCM' | 'HMAC-SHA-256'
  /** null once retired */
  wrapped: Uint8Array | null
  createdAt: number
  /** epoch seconds from which on it makes; 60 s after `createdAt`, except for the first keys of a new store */
  startsAt: number
  retiredAt: number | null
}

export type SigningKey = {
  kind: SigningKind
  id: string
  algorithm: SigningAlgorithm
  startsAt: number
  privateKey: KeyObject
  publicKey: KeyObject
  /** as published in the JWK Set (RFC 7517) */
  publicJwk: Record<string, unknown>
}

/** 256 bits from which one subkey per purpose is derived; nothing made for one purpose opens as another. */
export type SecretKey = {
  kind: 'seal' | 'mac'
  id: string
  startsAt: number
  subkey(purpose: string): KeyObject
}

export type OpenKey = SigningKey | SecretKey
type KeyOf<Kind extends KeyKind> = Kind extends SigningKind ? SigningKey : SecretKey

/** Seconds between storing a key and using it, unless the store is new. */
export const ANNOUNCED_FOR = 60

/** The kind of the keys that sign in an algorithm if access tokens are signed in another one. */
export const SIGNING_KINDS = {
  ES256: 'sign_es256',
  RS256: 'sign_rs256',
  EdDSA: 'sign_eddsa',
} as const satisfies Record<SigningAlgorithm, SigningKind>

export class KeyRing {
  #keys: OpenKey[] = []
  #byId = new Map<string, OpenKey>()
  /** Why the ring may lack a stored key. */
  #doubt: Error | null = null
  readonly #now: () => number
  /** what these keys were found to have signed; gone with them */
  readonly verified: VerifiedTokens

  constructor(now: () => number) {
    this.#now = now
    this.verified = new VerifiedTokens(now)
  }

  /** Puts a fresh set of keys, within each kind in the order of their numbers, in place of the present one, in one step. */
  replace(keys: OpenKey[]): void {
    // By number, as their retirement goes by it: two may start in the same second, and one made later may start earlier.
    this.#keys = keys.toReversed()
    this.#byId = new Map(keys.map((key) => [`${key.kind}:${key.id}`, key]))
    this.verified.forget()
  }

  /** The stored keys could not be read. Until `trust` is called, looking up an unknown id throws this error. */
  doubt(why: Error): void {
    this.#doubt = why
  }

  /** The ring holds every key that is stored. */
  trust(): void {
    this.#doubt = null
  }

  /** The key that makes now: the youngest that has started. */
  maker<Kind extends KeyKind>(kind: Kind): KeyOf<Kind> {
    const at = this.#now()
    // A clock set back behind every start is no reason to stop: then the first to start makes, as the very first key did.
    const key = this.#keys.find((each) => each.kind === kind && each.startsAt <= at) ?? this.#firstToStart(kind)
    if (!key) throw new Error(`there is no ${kind} key`)
    return key as KeyOf<Kind>
  }

  /** The key that may open what names this id, or undefined for a forgery. */
  opener<Kind extends KeyKind>(kind: Kind, id: string): KeyOf<Kind> | undefined {
    const key = this.#byId.get(`${kind}:${id}`) as KeyOf<Kind> | undefined
    if (!key && this.#doubt) throw this.#doubt
    return key
  }

  /** The signing key of any kind that has this id, or undefined for a forgery. */
  verifier(id: string): SigningKey | undefined {
    // `opener` finds nothing more, but throws while there is a doubt.
    return this.signingKeys().find((key) => key.id === id) ?? this.opener('sign', id)
  }

  /** The key that signs in an algorithm now; undefined as long as the first one is announced. */
  signer(algorithm: SigningAlgorithm): SigningKey | undefined {
    const usual = this.maker('sign')
    if (usual.algorithm === algorithm) return usual
    const kind = SIGNING_KINDS[algorithm]
    if (!this.#keys.some((key) => key.kind === kind)) return undefined
    const key = this.maker(kind)
    const wait = key.startsAt - this.#now()
    // No announcement is that long: the clock was set back.
    return wait <= 0 || wait > ANNOUNCED_FOR ? key : undefined
  }

  /** Every signing key, those before it starts and after it made its last included: what the JWK Set publishes (OpenID Connect Core §10.1, §10.1.1). */
  signingKeys(): SigningKey[] {
    return this.#keys.filter(isSigningKey)
  }

  #firstToStart(kind: KeyKind): OpenKey | undefined {
    const [first] = this.#keys.filter((key) => key.kind === kind).toSorted((a, b) => a.startsAt - b.startsAt)
    return first
  }

  isLoaded(): boolean {
    return (['sign', 'seal', 'mac'] as const).every((kind) => this.#keys.some((key) => key.kind === kind))
  }
}

function isSigningKey(key: OpenKey): key is SigningKey {
  return key.kind !== 'seal' && key.kind !== 'mac'
}
