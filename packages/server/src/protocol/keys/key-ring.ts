/**
 * The keys in use, by kind. A key is used for signing or sealing from `startsAt` until a younger key of its kind
 * starts. It opens what it made until it is retired. An id that is not in the ring is a forgery and costs no I/O,
 * unless the stored keys could not be read lately: then the id may belong to a new key.
 */
import type { KeyObject } from 'node:crypto'
import { DecodedTokens } from './decoded-tokens.ts'
import { KnownTokens } from './known-tokens.ts'
import type { SigningAlgorithm, SigningKey, SigningKind } from './signing-key.ts'

/** `seal`: codes, challenges and other sealed texts. `mac`: refresh tokens and session ids. */
export type KeyKind = SigningKind | 'seal' | 'mac'

/** A stored key. Its material is wrapped by the key-encryption key and bound to `id` and `kind`. */
export type KeyRecord = {
  id: string
  kind: KeyKind
  /** counts within its kind from 1; unique, so that two nodes cannot both insert the next key */
  number: number
  algorithm: SigningAlgorithm | 'AES-256-GCM' | 'HMAC-SHA-256'
  /** null once the key is retired */
  wrapped: Uint8Array | null
  createdAt: number
  /** epoch seconds from which the key signs or seals; 60 s after `createdAt`, except for the first keys of a new store */
  startsAt: number
  retiredAt: number | null
}

/** 256 bits from which one subkey per purpose is derived. A text made for one purpose cannot be opened for another. */
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
/** Seconds. A read that fails begins a few seconds before its failure is known. */
const RECENT_FOR = 50

/** The kind of the keys that sign in an algorithm if access tokens are signed in another algorithm. */
export const SIGNING_KINDS = {
  ES256: 'sign_es256',
  RS256: 'sign_rs256',
  EdDSA: 'sign_eddsa',
} as const satisfies Record<SigningAlgorithm, SigningKind>

export class KeyRing {
  #keys: OpenKey[] = []
  #byId = new Map<string, OpenKey>()
  /** Why the ring may lack a stored key, and since when, in epoch seconds; null if the ring is complete. */
  #doubt: { why: Error; since: number } | null = null
  readonly #now: () => number
  /** access tokens that these keys signed; cleared when one of the keys is gone */
  readonly known = new KnownTokens()
  /** their claims; cleared when one of the keys is gone */
  readonly decoded: DecodedTokens

  constructor(now: () => number) {
    this.#now = now
    this.decoded = new DecodedTokens(now)
  }

  /** Replaces all keys at once. Within each kind, `keys` is in the order of the keys' numbers. */
  replace(keys: OpenKey[]): void {
    // Sorted by number, because retirement is by number: two keys may start in the same second, and a later key may
    // start earlier.
    this.#keys = keys.toReversed()
    const before = this.#byId
    this.#byId = new Map(keys.map((key) => [nameOf(key), key]))
    // The keys are read again after every change of a client, too. Only a key that is gone makes tokens invalid.
    if ([...before.keys()].every((name) => this.#byId.has(name))) return
    this.known.forget()
    this.decoded.forget()
  }

  /** The stored keys could not be read. Until `trust` is called, a look-up of an unknown id throws this error. */
  doubt(why: Error): void {
    this.#doubt = { why, since: this.#doubt?.since ?? this.#now() }
  }

  /** The ring has every stored key. */
  trust(): void {
    this.#doubt = null
  }

  /**
   * Throws if the stored keys, with which a node reads changed clients, could not be read for almost a minute: for a response that needs nothing else of
   * the store. The feed of endings keeps the entry of a disabled client for a minute more than its tokens are valid.
   */
  requireRecent(): void {
    if (this.#doubt && Math.abs(this.#now() - this.#doubt.since) > RECENT_FOR) throw this.#doubt.why
  }

  /** The key that signs or seals now: the youngest key that has started. */
  maker<Kind extends KeyKind>(kind: Kind): KeyOf<Kind> {
    const at = this.#now()
    // If the clock was set back to before every start, the first key to start is used, as with a new store.
    const key = this.#keys.find((each) => each.kind === kind && each.startsAt <= at) ?? this.#firstToStart(kind)
    if (!key) throw new Error(`there is no ${kind} key`)
    return key as KeyOf<Kind>
  }

  /** The key with this id, or undefined for a forgery. */
  opener<Kind extends KeyKind>(kind: Kind, id: string): KeyOf<Kind> | undefined {
    const key = this.#byId.get(`${kind}:${id}`) as KeyOf<Kind> | undefined
    if (!key && this.#doubt) throw this.#doubt.why
    return key
  }

  /** The signing key of any kind with this id, or undefined for a forgery. */
  verifier(id: string): SigningKey | undefined {
    // `opener` finds no further key, but throws if the ring may be incomplete.
    return this.signingKeys().find((key) => key.id === id) ?? this.opener('sign', id)
  }

  /** The key that signs in an algorithm now; undefined while the first key of the algorithm is only announced. */
  signer(algorithm: SigningAlgorithm): SigningKey | undefined {
    const usual = this.maker('sign')
    if (usual.algorithm === algorithm) return usual
    const kind = SIGNING_KINDS[algorithm]
    if (!this.#keys.some((key) => key.kind === kind)) return undefined
    const key = this.maker(kind)
    const wait = key.startsAt - this.#now()
    // No announcement takes that long: the clock was set back.
    return wait <= 0 || wait > ANNOUNCED_FOR ? key : undefined
  }

  /**
   * Every signing key, including announced keys and keys that no longer sign: the content of the JWK Set (OpenID
   * Connect Core §10.1, §10.1.1).
   */
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

function nameOf({ kind, id }: OpenKey): string {
  return `${kind}:${id}`
}

function isSigningKey(key: OpenKey): key is SigningKey {
  return key.kind !== 'seal' && key.kind !== 'mac'
}
