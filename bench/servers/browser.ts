/** A browser without a window: it keeps cookies and does not follow redirects by itself. */

export type Page = { status: number; location: string; body: string }

export type Browser = {
  open(url: string, form?: Record<string, string>): Promise<Page>
  /** the Cookie header */
  cookies(): string
}

export function makeBrowser(): Browser {
  const kept = new Map<string, string>()
  const cookies = () => [...kept].map(([name, value]) => `${name}=${value}`).join('; ')
  return {
    cookies,
    async open(url, form) {
      const response = await fetch(url, {
        redirect: 'manual',
        headers: kept.size === 0 ? {} : { cookie: cookies() },
        ...(form ? { method: 'POST', body: new URLSearchParams(form) } : {}),
      })
      const body = await response.text()
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        kept.set(name, value)
      }
      return { status: response.status, location: response.headers.get('location') ?? '', body }
    },
  }
}
