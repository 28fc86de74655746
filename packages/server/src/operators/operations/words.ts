/** Numbers, times and names in sentences. */

const NUMBER = new Intl.NumberFormat('en-GB')

/** "1,204". */
export function number(value: number): string {
  return NUMBER.format(value)
}

/** "1 grant", "1,204 grants". `atMost`: the count stopped there. */
export function formatCount(count: number, noun: string, atMost = Number.POSITIVE_INFINITY): string {
  return `${number(count)}${count >= atMost ? ' or more' : ''} ${noun}${count === 1 ? '' : 's'}`
}

/** Epoch seconds as UTC, to the second. */
export function utc(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z')
}

export function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
