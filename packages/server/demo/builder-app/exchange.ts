import type { CustomFetch } from 'openid-client'
import type { Field } from './mask.ts'
import { maskBody, maskField } from './mask.ts'

/** One request and its response. Secrets are masked when the exchange is recorded, and not kept. */
export interface Exchange {
  sender: 'this app' | 'your browser'
  method: string
  /** without its query */
  url: string
  headers: Field[]
  parameters: Field[]
  /** undefined if there was no response */
  answer: Answer | undefined
}

export interface Answer {
  status: number
  headers: Field[]
  parameters: Field[]
  body: string
}

const sentHeaders = ['authorization', 'content-type', 'accept']
const answeredHeaders = ['content-type', 'cache-control', 'www-authenticate', 'retry-after']

/** A `fetch` for openid-client that records each request and its response. */
export function recordingFetch(record: (exchange: Exchange) => void): CustomFetch {
  return async (url, { method, headers, body, redirect, signal }) => {
    // openid-client sends no other body than a form here.
    const form = body as URLSearchParams | undefined
    const request = { method, headers, redirect, ...(form ? { body: form } : {}), ...(signal ? { signal } : {}) }
    const sent = {
      sender: 'this app' as const,
      method,
      url: withoutQuery(url),
      headers: pick(new Headers(headers), sentHeaders),
      parameters: fields(form ?? new URLSearchParams(new URL(url).search)),
    }
    try {
      const response = await fetch(url, request)
      // A copy, because the client reads the body itself.
      const text = await response.clone().text()
      record({
        ...sent,
        answer: {
          status: response.status,
          headers: pick(response.headers, answeredHeaders),
          parameters: [],
          body: maskBody(text),
        },
      })
      return response
    } catch (error) {
      record({ ...sent, answer: undefined })
      throw error
    }
  }
}

/** The authorization request and its response, which the browser carries: this app has the URLs of both redirects, and no message. */
export function browserExchange(sent: URL, cameBack: URL): Exchange {
  return {
    sender: 'your browser',
    method: 'GET',
    url: withoutQuery(sent.href),
    headers: [],
    parameters: fields(sent.searchParams),
    answer: {
      status: 302,
      headers: [{ name: 'location', value: withoutQuery(cameBack.href) }],
      parameters: fields(cameBack.searchParams),
      body: '',
    },
  }
}

function fields(parameters: URLSearchParams): Field[] {
  return [...parameters].map(([name, value]) => maskField({ name, value }))
}

function pick(headers: Headers, names: string[]): Field[] {
  return names.flatMap((name) => {
    const value = headers.get(name)
    return value === null ? [] : [maskField({ name, value })]
  })
}

function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
