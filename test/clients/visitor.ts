/** Somebody's browser at an app: cookies kept, redirects followed by hand. */
import { send } from '../support/send.ts'

/** `to` is where the app sends the browser, whole, or ''. */
export type Answer = { status: number; to: string; headers: Headers; body: string }
type Handler = (request: Request) => Promise<Response>

export class Visitor {
  readonly #cookies = new Map<string, string>()
  readonly #handler: Handler

  /** Visits apps over their sockets, or one that is a function of its requests. */
  constructor(handler: Handler = overSocket) {
    this.#handler = handler
  }

  /** Goes there as a browser does; with a form it is a POST. */
  async visit(url: string, form?: Record<string, string>): Promise<Answer> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const request = new Request(url, {
      headers: { accept: 'text/html', ...(cookie === '' ? {} : { cookie }) },
      ...(form ? { method: 'POST', body: new URLSearchParams(form) } : {}),
    })
    const answer = await this.#handler(request)
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    const location = answer.headers.get('location')
    const to = location === null ? '' : new URL(location, url).href
    return { status: answer.status, to, headers: answer.headers, body: await answer.text() }
  }
}

/** Not by `fetch`, which says of itself that it is no navigation (`sec-fetch-mode`), and what guards pages listens to that. */
async function overSocket(request: Request): Promise<Response> {
  const { origin, pathname, search } = new URL(request.url)
  const { status, headers, body } = await send(origin, {
    method: request.method,
    path: pathname + search,
    headers: Object.fromEntries(request.headers),
    ...(request.body ? { body: await request.text() } : {}),
  })
  const pairs = Object.entries(headers).flatMap(([name, value = '']) =>
    [value].flat().map((each): [string, string] => [name, each]),
  )
  return new Response(body === '' ? null : body, { status, headers: pairs })
}
