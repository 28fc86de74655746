/** What the user can correct: the message is a sentence for the user. */
export class CreateError extends Error {
  override readonly name = 'CreateError'
}
