/** The bytes of requests, the same for all servers. */

/** A form post (such as RFC 6749 §4.1.3) with the client's credentials. */
export function formPost(path: string, authorization: string, fields: Record<string, string>): string {
  return post(path, `Authorization: ${authorization}\r\n`, fields)
}

/** The same through a trusted proxy, whose header names this address. Without `authorization`: of a client without a secret. */
export function postFrom(address: string, path: string, fields: Record<string, string>, authorization?: string): string {
  const credentials = authorization === undefined ? '' : `Authorization: ${authorization}\r\n`
  return post(path, `X-Forwarded-For: ${address}\r\n${credentials}`, fields)
}

function post(path: string, headers: string, fields: Record<string, string>): string {
  const body = new URLSearchParams(fields).toString()
  return (
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}` +
    `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
}

/** The request of a browser without cookies, from this address. */
export function visit(path: string, address: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nX-Forwarded-For: ${address}\r\n\r\n`
}

export function get(path: string, cookie: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nCookie: ${cookie}\r\n\r\n`
}

/** HTTP Basic (RFC 6749 §2.3.1); ids and secrets of the bench need no encoding. */
export function basic(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
}

/** The address of one network of many, each of which is another one for the limits. */
export function networkOf(index: number): string {
  return `${10 + ((index >> 16) & 63)}.${(index >> 8) & 255}.${index & 255}.1`
}
