/** How long an HTTP response may be reused (RFC 9111 §4.2), within bounds of our own. */

type SecondsBounds = { atLeast: number; atMost: number; usual: number }

/** Seconds from `Cache-Control` less `Age`; `usual` if the response gives no time. `no-store` and `no-cache` give the lower bound. */
export function cacheSeconds(
  headers: Readonly<Record<string, string | undefined>>,
  { atLeast, atMost, usual }: SecondsBounds,
): number {
  const directives = (headers['cache-control'] ?? '')
    .toLowerCase()
    .split(',', 20)
    .map((each) => each.trim())
  if (directives.includes('no-store') || directives.includes('no-cache')) return atLeast
  const given = directives.map((each) => /^max-age="?(\d{1,10})"?$/.exec(each)?.[1]).find((each) => each !== undefined)
  if (given === undefined) return usual
  const age = /^\d{1,10}$/.test(headers.age ?? '') ? Number(headers.age) : 0
  return Math.min(atMost, Math.max(atLeast, Number(given) - age))
}
