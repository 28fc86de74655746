import { expect } from 'vitest'
import { basic } from '../../support/feed.ts'
import { test as base } from '../../support/fixtures.ts'
import { ConsoleBrowser } from './console-browser.ts'
import { addOperator, OWNER } from './visit.ts'

const test = base.extend('options', { admin: true, trustedProxies: ['127.0.0.1'] })

test('The first page shows who was refused in the last hour: by network, name of the client and reason, once, without a complete address', async ({
  grantor,
  client,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  const owner = new ConsoleBrowser(grantor, OWNER)
  await owner.signIn()
  const secret = (text: string) => `Basic ${Buffer.from(`${client.id}:${text}`).toString('base64')}`
  for (let n = 0; n < 7; n++) {
    await fetch(`${grantor.authUrl}/oauth/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ token: 'x' }),
      headers: { authorization: secret('wrong'), 'x-forwarded-for': '203.0.113.77' },
    })
  }
  await fetch(`${grantor.authUrl}/oauth/authorize?client_id=unknown`, { headers: { 'x-forwarded-for': '198.51.100.9' } })
  await fetch(`${grantor.adminUrl}/v1/clients`, {
    headers: { authorization: 'Bearer x', 'x-forwarded-for': '2001:db8:aa:bb::1' },
  })
  const { body: text } = await owner.get('/console')
  const cells = [...text.matchAll(/<td[^>]*><div>(.*?)<\/div><\/td>/g)].map(([, cell = '']) => cell.replaceAll(/<[^>]*>/g, ''))
  const rowOf = (network: string) => cells.slice(cells.indexOf(network), cells.indexOf(network) + 4)
  expect(rowOf('203.0.113')).toEqual(['203.0.113', client.name, 'secret_wrong', '7'])
  expect(rowOf('198.51.100')).toEqual(['198.51.100', 'unknown', 'client_unknown_or_disabled', '1'])
  expect(rowOf('2001:db8:aa')).toEqual(['2001:db8:aa', 'unknown', expect.any(String), '1'])
  expect(cells.filter((cell) => cell === 'secret_wrong')).toHaveLength(1)
  expect(text).not.toContain('203.0.113.77')
})

test('The first page shows how many resource servers read the feed of endings, and how late the slowest one is', async ({
  grantor,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  const owner = new ConsoleBrowser(grantor, OWNER)
  await owner.signIn()
  const figure = async () => {
    const { body } = await owner.get('/console')
    return /[^.>]*feed of endings[^<]*/.exec(body)?.[0]
  }
  expect(await figure()).toBe('No resource server reads the feed of endings.')
  const api = await grantor.createClient({ redirectUris: [], resourceServer: 'https://api.example.com/' })
  const stop = new AbortController()
  await fetch(`${grantor.authUrl}/oauth/endings`, {
    headers: { ...basic(api), accept: 'text/event-stream' },
    signal: stop.signal,
  })
  expect(await figure()).toMatch(/^The feed of endings has 1 reader, at most \d+\.\d s behind\.$/)
  stop.abort()
})
