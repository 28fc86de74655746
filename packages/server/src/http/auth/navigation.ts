/**
 * Requests that a browser makes without a visit: prefetches, images, scripts, `fetch`. A route that issues codes,
 * starts or ends sessions, or sets cookies refuses them. Otherwise a link preview would spend a pushed request, and an
 * image on another page would sign a user out.
 */
import type { FastifyRequest } from 'fastify'

/** Browsers send one of these in `Sec-Fetch-Dest` when they open a page. */
const OPENS_A_PAGE: ReadonlySet<string> = new Set([
  'document',
  // An app on the same site may repeat its request with prompt=none in a frame: the frame follows the redirect and
  // shows no page of this service.
  'iframe',
  'frame',
])

export class NotANavigation extends Error {
  override readonly name = 'NotANavigation'
  readonly reason: 'prefetch' | 'subresource_load'

  constructor(reason: NotANavigation['reason']) {
    super(reason)
    this.reason = reason
  }
}

/**
 * An `onRequest` hook. It throws `NotANavigation` for a prefetch (`Sec-Purpose`, or `Purpose` in older browsers) and
 * for a load that opens no page (Fetch Metadata). Requests without these headers are allowed: older browsers and other
 * programs do not send them. `Sec-Fetch-Mode` alone counts only if it is `no-cors`, the mode of images and scripts,
 * because programs that use the `fetch` of Node send `cors`.
 */
export async function requireNavigation({ headers }: FastifyRequest): Promise<void> {
  const purposes = [headers['sec-purpose'] ?? [], headers.purpose ?? []].flat()
  if (purposes.some((purpose) => /prefetch|prerender|preview/i.test(purpose))) throw new NotANavigation('prefetch')
  const { 'sec-fetch-dest': destination, 'sec-fetch-mode': mode } = headers
  if (mode === 'no-cors' || (destination !== undefined && !OPENS_A_PAGE.has(destination)))
    throw new NotANavigation('subresource_load')
}
