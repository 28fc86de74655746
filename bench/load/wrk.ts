/**
 * The same request, sent repeatedly by wrk, if wrk is installed. If our own load reaches nearly the same rate at the fastest server, our load
 * does not limit the rates of the other servers.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Requests a second. `request` is the bytes of one request. */
export async function loadWithWrk(
  port: number,
  request: string,
  { connections, seconds, folder }: { connections: number; seconds: number; folder: string },
): Promise<number> {
  const [head = '', body = ''] = request.split('\r\n\r\n')
  const [first = '', ...headers] = head.split('\r\n')
  const [method = '', path = ''] = first.split(' ')
  const lines = headers
    .map((line) => line.split(': '))
    .filter(([name]) => name !== 'Content-Length')
    .map(([name = '', value = '']) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`)
  const script = join(folder, 'request.lua')
  writeFileSync(script, [`wrk.method = ${JSON.stringify(method)}`, `wrk.body = ${JSON.stringify(body)}`, ...lines].join('\n'))
  const url = `http://127.0.0.1:${port}${path}`
  const { stdout } = await promisify(execFile)('wrk', ['-t1', `-c${connections}`, `-d${Math.ceil(seconds)}s`, '-s', script, url])
  if (/Non-2xx/.test(stdout)) throw new Error('wrk was given an answer that is not 2xx')
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
}
