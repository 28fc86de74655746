/** What a load consists of: requests, and what has to come back for them. */
import type { Answer } from './connection.ts'

export type Work = {
  /** the next request as it goes over the wire; undefined where none is left (or none yet) */
  next(): string | undefined
  /** takes one answer; throws where it is not the one that was asked for */
  accept(answer: Answer): void
}

/** A run that has met one wrong answer is worth nothing: it ends with this. */
export class WrongAnswer extends Error {}

/** Throws unless the status is the expected one. Says the error code, if the body has one, and nothing else of it. */
export function requireStatus(answer: Answer, status: number, what: string): void {
  if (answer.status === status) return
  const [, code = 'no error code'] = /"error":"([a-z_]+)"/.exec(answer.body) ?? []
  throw new WrongAnswer(`${what}: answered ${answer.status} (${code}) instead of ${status}`)
}

/** Throws unless the body holds this text. */
export function requireText(answer: Answer, text: string, what: string): void {
  if (!answer.body.includes(text)) throw new WrongAnswer(`${what}: the answer lacks ${text}`)
}
