/** A load: requests, and the checks of their responses. */
import type { Answer } from './connection.ts'

export type Work = {
  /** the bytes of the next request; undefined if there is none, or none yet */
  next(): string | undefined
  /** checks one response; throws if it is not the expected one */
  accept(answer: Answer): void
}

/** One wrong response makes the figures worthless, so this error ends the run. */
export class WrongAnswer extends Error {}

/** Throws unless the status is the expected one. The message contains the error code of the body, if any, and nothing else of the body. */
export function requireStatus(answer: Answer, status: number, what: string): void {
  if (answer.status === status) return
  const [, code = 'no error code'] = /"error":"([a-z_]+)"/.exec(answer.body) ?? []
  throw new WrongAnswer(`${what}: answered ${answer.status} (${code}) instead of ${status}`)
}

/** Throws unless the body contains this text. */
export function requireText(answer: Answer, text: string, what: string): void {
  if (!answer.body.includes(text)) throw new WrongAnswer(`${what}: the answer lacks ${text}`)
}
