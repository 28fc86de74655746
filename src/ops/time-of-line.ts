/** The time at the head of a log line, as pino writes it. Many lines fall into one millisecond, and its words are made once. */
let millisecond = Number.NaN
let words = ''

export function timeOfLine(): string {
  const now = new Date()
  if (now.getTime() !== millisecond) words = now.toISOString()
  millisecond = now.getTime()
  return words
}
