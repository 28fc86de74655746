/** A fault of what a caller gave: a value, so that no code must read the sentence to find the field. */
export type Fault<Member extends string = string> = {
  /** what the fault concerns; null if no member alone is wrong */
  member: Member | null
  /** one sentence for people */
  words: string
}

export function wordsOf(faults: readonly Fault[]): string[] {
  return faults.map(({ words }) => words)
}
