import { afterEach, beforeEach, expect, test } from 'vitest'
import { createBuilderApp } from '../../demo/builder-app/index.ts'
import { freePorts } from '../support/free-ports.ts'
import type { Grantor } from '../support/start.ts'
import { startGrantor } from '../support/start.ts'

const baseUrl = 'http://localhost:4002'
let ports: number[]
let app: ReturnType<typeof createBuilderApp>
beforeEach(async () => {
  ports = await freePorts(2)
  app = createBuilderApp({
    issuer: `http://localhost:${ports[0]}`,
    clientId: 'an-id',
    clientSecret: 'a-secret',
    baseUrl,
    apiUrl: 'http://localhost:4003',
  })
})
afterEach(() => app.close())

const get = (url: string, cookie = '') => app.inject({ url, headers: { host: 'localhost:4002', cookie } })

test('The demo app shows an error while its authorization service does not respond, and works again when the service responds', async () => {
  const failed = await get('/start')
  expect(failed.headers.location).toBe('/')
  const cookie = String(failed.headers['set-cookie']).split(';', 1)[0] ?? ''
  expect((await get('/', cookie)).body).toMatch(/data-outcome="trouble"[^>]*><b>Failed.<\/b> There was no response/)

  const grantor: Grantor = await startGrantor({ ports })
  expect((await get('/start', cookie)).headers.location).toMatch(`${grantor.authUrl}/oauth/authorize?`)
  await grantor.close()
})

test('The demo app sends a new state and a new S256 challenge with each request (RFC 7636 §4.1)', async () => {
  const grantor = await startGrantor({ ports })
  const redirects = await Promise.all([get('/start'), get('/start')])
  const [one, two] = redirects.map(({ headers }) => new URL(String(headers.location)).searchParams)
  expect(one?.get('code_challenge_method')).toBe('S256')
  expect(one?.get('redirect_uri')).toBe(`${baseUrl}/callback`)
  expect(one?.get('state')).not.toBe(two?.get('state'))
  expect(one?.get('code_challenge')).not.toBe(two?.get('code_challenge'))
  await grantor.close()
})

test('Under another name of this machine the demo app redirects the browser to its own address, where its cookie is valid', async () => {
  const answer = await app.inject({ url: '/callback?code=a', headers: { host: '127.0.0.1:4002' } })
  expect([answer.statusCode, answer.headers.location]).toEqual([302, `${baseUrl}/`])
})

test('Every page of the demo app forbids scripts, frames and other sites', async () => {
  for (const url of ['/', '/callback', '/nothing']) {
    const { headers } = await get(url)
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    )
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
  }
})

test('The demo app keeps a bounded number of sessions', async () => {
  const grantor = await startGrantor({ ports })
  const cookieOf = async (cookie = '') => String((await get('/start', cookie)).headers['set-cookie']).split(';', 1)[0] ?? ''
  const first = await cookieOf()
  expect(await cookieOf(first)).toBe(first)
  for (let more = 0; more < 1_000; more += 1) await cookieOf()
  expect(await cookieOf(first)).not.toBe(first)
  await grantor.close()
})
