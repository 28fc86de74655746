/** What the readers of signed texts share: they compose a text again from the fields that they read, and compare the bytes. */

/** Longer than any text that the service composes; bounds the work on other texts. */
export const LONGEST_TEXT = 200_000

/** The text of the fields; null if no text has these fields. */
export function composeAgain(compose: () => string | null): string | null {
  try {
    return compose()
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

export function withoutRecap(message: string): string {
  return message.replace(/\n- urn:recap:[A-Za-z0-9_-]+$/, '')
}
