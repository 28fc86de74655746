/** The first message of each response repeats the nonce of the request, so that a reader does not take a recording for the present feed. */
import { randomBytes } from 'node:crypto'
import { describe, expect } from 'vitest'
import { askFeed, basic, openMessage, readFeed } from '../../../support/feed.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { send } from '../../../support/send.ts'

const API = 'https://api.example.com/'

const test = base.extend('api', FILE, ({ grantor }) => grantor.createClient({ redirectUris: [], resourceServer: API }))

const newNonce = () => randomBytes(16).toString('base64url')

describe('The nonce of a request', () => {
  test('The first part of a snapshot repeats the nonce, and readers share the other parts', async ({ grantor, api }) => {
    await grantor.renewFeed()
    const nonces = [newNonce(), newNonce()]
    const answers = await Promise.all(nonces.map((nonce) => askFeed(grantor, api, { nonce })))
    const [one = [], other = []] = answers.map((answer) => (answer.json() as { messages: string[] }).messages)
    expect(one.length).toBeGreaterThan(1)
    expect(one.slice(1)).toEqual(other.slice(1))
    const opened = await Promise.all([...one, other[0] ?? ''].map((message) => openMessage(grantor, api, message)))
    expect(opened.map(({ nonce }) => nonce)).toEqual([nonces[0], ...one.slice(1).map(() => undefined), nonces[1]])
  })

  test('All parts of one snapshot have its name, and another snapshot has another name', async ({ grantor, api }) => {
    const namesOf = async () => (await readFeed(grantor, api)).messages.flatMap(({ part, snapshot }) => (part ? [snapshot] : []))
    await grantor.renewFeed()
    const first = await namesOf()
    expect(first).toEqual([expect.stringMatching(/^[\w-]{16}$/), ...first.slice(1).map(() => first[0])])
    grantor.clock.advance(6)
    await grantor.renewFeed()
    expect(await namesOf()).not.toContain(first[0])
  })

  test('After a cursor, the message repeats the nonce; a reader that has everything gets a message at once', async ({
    grantor,
    api,
  }) => {
    await grantor.renewFeed()
    const { cursor } = await readFeed(grantor, api)
    const nonce = newNonce()
    const place = Number(cursor.split('.')[0])
    const upToDate = await readFeed(grantor, api, { cursor, nonce })
    expect(upToDate.messages).toMatchObject([{ nonce, from: place, until: place }])
    await grantor.renewFeed()
    const { messages } = await readFeed(grantor, api, { cursor, nonce })
    expect(messages).toMatchObject([{ nonce, from: place }])
    expect(messages[0]?.until).toBeGreaterThan(place)
  })

  test('With `wait`, the message is signed after the wait and repeats the nonce, with news and without', async ({
    grantor,
    api,
  }) => {
    await grantor.renewFeed()
    const { cursor } = await readFeed(grantor, api)
    const nonce = newNonce()
    const waiting = readFeed(grantor, api, { cursor, nonce, wait: '30' })
    await expect.poll(() => grantor.feedReaders()).toBe(1)
    grantor.clock.advance(1)
    const reading = setInterval(() => void grantor.renewFeed(), 20)
    const { messages } = await waiting.finally(() => clearInterval(reading))
    expect(messages).toMatchObject([{ nonce }])
    expect(messages[0]?.at).toBeGreaterThanOrEqual(grantor.clock.now() * 1000)
    const { cursor: latest } = await readFeed(grantor, api)
    expect((await readFeed(grantor, api, { cursor: latest, nonce, wait: '1' })).messages).toMatchObject([{ nonce }])
  })

  test('The first event of a stream repeats the nonce, also after the cursor of a reader that has everything', async ({
    grantor,
    api,
  }) => {
    await grantor.renewFeed()
    const { cursor } = await readFeed(grantor, api)
    for (const headers of [{}, { 'last-event-id': cursor }]) {
      const nonce = newNonce()
      const stop = new AbortController()
      const response = await fetch(`${grantor.authUrl}/oauth/endings?nonce=${nonce}`, {
        headers: { ...basic(api), accept: 'text/event-stream', ...headers },
        signal: stop.signal,
      })
      const events = await firstEvents(response)
      const [, first = ''] = /^data: (\S+)$/m.exec(events) ?? []
      expect(await openMessage(grantor, api, first)).toMatchObject({ nonce })
      stop.abort()
    }
    await expect.poll(() => grantor.feedReaders()).toBe(0)
  })

  test('A nonce in the form of a POST is repeated too', async ({ grantor, api }) => {
    const nonce = newNonce()
    const headers = { ...basic(api), 'content-type': 'application/x-www-form-urlencoded' }
    const body = new URLSearchParams({ nonce }).toString()
    const answer = await send(grantor.authUrl, { method: 'POST', path: '/oauth/endings', headers, body })
    const [first = ''] = (answer.json() as { messages: string[] }).messages
    expect(await openMessage(grantor, api, first)).toMatchObject({ nonce })
  })

  test('Without a nonce, no message has one', async ({ grantor, api }) => {
    for (const { nonce } of (await readFeed(grantor, api)).messages) expect(nonce).toBeUndefined()
  })

  test.for([
    ['15 bytes', randomBytes(15).toString('base64url')],
    ['17 bytes', randomBytes(17).toString('base64url')],
    ['stray bits at the end', `${'A'.repeat(21)}B`],
    ['characters of base64', `${'A'.repeat(20)}+A`],
    ['a thousand characters', 'A'.repeat(1000)],
  ] as const)('A nonce of %s is refused', async ([, nonce], { grantor, api }) => {
    const answer = await askFeed(grantor, api, { nonce })
    expect([answer.status, answer.json().error]).toEqual([400, 'invalid_request'])
    expect(grantor.feedReaders()).toBe(0)
  })
})

test('A stream is of one run of the feed: it ends when the clock of the service is set back', async ({ grantor, api }) => {
  await grantor.renewFeed()
  const headers = { ...basic(api), accept: 'text/event-stream' }
  const response = await fetch(`${grantor.authUrl}/oauth/endings`, { headers })
  const events = response.text()
  grantor.clock.advance(-5)
  const reading = setInterval(() => void grantor.renewFeed(), 20)
  const text = await events.finally(() => clearInterval(reading))
  const messages = [...text.matchAll(/^data: (\S+)$/gm)].map(([, message = '']) => message)
  const opened = await Promise.all(messages.map((message) => openMessage(grantor, api, message)))
  expect(new Set(opened.map(({ feed }) => feed)).size).toBe(1)
  expect(opened[0]?.feed).not.toBe((await readFeed(grantor, api)).messages[0]?.feed)
})

/** What arrives of the stream until the first event is complete. */
async function firstEvents({ body }: Response): Promise<string> {
  let text = ''
  if (!body) throw new Error('the stream has no body')
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (text.includes('\n\n')) return text
  }
  return text
}
