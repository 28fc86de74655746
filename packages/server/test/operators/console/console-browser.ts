/** A browser of an operator as plain HTTP requests: its cookies at the console, and its forms. */

import { type Answer, type Request, send } from '../../support/send.ts'
import type { Grantor } from '../../support/start.ts'
import { Walk } from '../../support/walk.ts'
import type { TestWallet } from '../../support/wallet.ts'

const FORM = 'application/x-www-form-urlencoded'

export class ConsoleBrowser {
  readonly grantor: Grantor
  readonly walk: Walk
  readonly cookies = new Map<string, string>()

  constructor(grantor: Grantor, wallet: TestWallet) {
    this.grantor = grantor
    this.walk = new Walk(grantor, wallet)
  }

  async browse(request: Request): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(cookie === '' ? {} : { cookie }), ...request.headers }
    const answer = await send(this.grantor.adminUrl, { ...request, headers })
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      this.cookies.set(name, value)
    }
    return answer
  }

  get(path: string): Promise<Answer> {
    return this.browse({ path })
  }

  /** Begins the sign-in, signs, and returns the path of the callback with the code. */
  async callback(to = '/console'): Promise<string> {
    const begun = await this.get(`/console/sign-in?to=${encodeURIComponent(to)}`)
    const { search } = new URL(begun.location)
    const { to: answer } = await this.walk.signIn(search.slice(1))
    const { pathname, search: query } = new URL(answer)
    return pathname + query
  }

  async signIn(to?: string): Promise<Answer> {
    return this.get(await this.callback(to))
  }

  /** Posts a form as a browser does from a page of the console, and follows the redirect. */
  async post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await this.postOnly(path, fields, headers)
    return answer.status === 303 ? this.get(answer.location) : answer
  }

  postOnly(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> {
    const own = { 'content-type': FORM, origin: this.grantor.adminUrl, 'sec-fetch-site': 'same-origin' }
    return this.browse({ method: 'POST', path, headers: { ...own, ...headers }, body: new URLSearchParams(fields).toString() })
  }

  /** The hidden fields of the form on the page at this path. */
  async fieldsAt(path: string): Promise<Record<string, string>> {
    return hiddenFields(await this.get(path))
  }
}

/** The hidden fields of the form in the main part of the page. */
export function hiddenFields({ body }: Answer): Record<string, string> {
  const main = body.slice(body.indexOf('<main'))
  return Object.fromEntries(
    [...main.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
    ]),
  )
}
