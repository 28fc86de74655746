/** A requirement of a standard, the file that implements it, and the test that shows it. */

export type Level = 'MUST' | 'MUST NOT' | 'SHOULD' | 'SHOULD NOT'

export type Requirement = {
  /** of the standard, without the sign: `4.1.2` */
  section: string
  level: Level
  /** the sentence of the standard, quoted or retold */
  words: string
  outcome: Held | NotHeld
}

/** A comment of `file` names the section. The test has exactly this title. */
export type Held = { kind: 'held'; file: string; shown: Shown; note: string | undefined }
export type Shown = { file: string; title: string }

/** A deliberate deviation: what Grantor does instead, why, and the test that shows it. Without a test, a row could outlive its deviation. */
export type NotHeld = { kind: 'not_held'; why: string; shown: Shown }

export type Standard = {
  /** as comments name it: `RFC 6749`, `OpenID Connect Core` */
  name: string
  title: string
  /** the URL of a section without the section's number */
  sections: string
  requirements: readonly Requirement[]
}
