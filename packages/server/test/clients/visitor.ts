/** A person's browser at an app. The browser keeps cookies, and does not follow redirects by itself. */
import { send } from '../support/send.ts'

/** `to` is the absolute URL of a redirect, or an empty text. */
export type Answer = { status: number; to: string; headers: Headers; body: string }
type Handler = (request: Request) => Promise<Response>

export class Visitor {
  readonly #cookies = new Map<string, string>()
  readonly #handler: Handler

  /** Without a handler, requests are sent over a socket. A handler is an app that is a function of its requests. */
  constructor(handler: Handler = sendOverSocket) {
    this.#handler = handler
  }

  /** Requests a URL as a browser does: with POST if there is a form, otherwise with GET. */
  async visit(url: string, form?: Record<string, string>): Promise<Answer> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const request = new Request(url, {
      headers: { accept: 'text/html,*/*;q=0.8', ...(cookie === '' ? {} : { cookie }) },
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

/** Does not use `fetch`, whose `sec-fetch-mode` states that the request is no navigation: mod_auth_openidc checks this header. */
async function sendOverSocket(request: Request): Promise<Response> {
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
