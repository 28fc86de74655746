/** What a standard asks of an authorization server, where the code holds to it, and which test shows it. */

export type Level = 'MUST' | 'MUST NOT' | 'SHOULD' | 'SHOULD NOT'

export type Requirement = {
  /** of the standard, without the sign: `4.1.2` */
  section: string
  level: Level
  /** what is asked, in our own words */
  words: string
  outcome: Held | NotHeld
}

/** `file` has a comment that names the section; the test stands in its file under this very title. */
export type Held = { kind: 'held'; file: string; shown: Shown; note: string | undefined }
export type Shown = { file: string; title: string }

/** On purpose, and said so. */
export type NotHeld = { kind: 'not_held'; why: string }

export type Standard = {
  /** as comments name it: `RFC 6749`, `OpenID Connect Core` */
  name: string
  title: string
  requirements: readonly Requirement[]
}
