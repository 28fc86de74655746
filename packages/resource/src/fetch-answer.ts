import type { Answer } from './protected-resource.ts'

/** The response of the Fetch standard. */
export function toResponse({ status, headers, body }: Answer): Response {
  return new Response(body === '' ? null : body, { status, headers })
}
