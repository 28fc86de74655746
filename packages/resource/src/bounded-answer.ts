/** In bytes, after decompression. A longer answer is no answer of an authorization server. */
const ANSWER_AT_MOST = 1_048_576

/** The response with a body that fails after 1 MiB, so that no server can fill the memory of the API. */
export function boundAnswer(response: Response): Response {
  const { body, status, statusText, headers } = response
  if (body === null) return response
  let size = 0
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, controller) {
      size += part.length
      if (size > ANSWER_AT_MOST) controller.error(new RangeError('the answer of the authorization server is too long'))
      else controller.enqueue(part)
    },
  })
  return new Response(body.pipeThrough(counting), { status, statusText, headers })
}
