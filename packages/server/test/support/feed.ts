/** Reads the feed of endings as a resource server does, and opens its messages (docs/reference/feed.md). */
import { createHash } from 'node:crypto'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import type { EndingsClaims } from '../../src/keys/endings-message.ts'
import { type Answer, send } from './send.ts'
import type { Grantor, TestClient } from './start.ts'

export type FeedReply = { answer: Answer; cursor: string; messages: EndingsClaims[] }

export function basic({ id, secret }: Pick<TestClient, 'id' | 'secret'>): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` }
}

export function askFeed(
  grantor: Grantor,
  server: TestClient,
  query: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  const path = `/oauth/endings?${new URLSearchParams(query)}`
  return send(grantor.authUrl, { path, headers: { ...basic(server), ...headers } })
}

/** Reads JSON from the feed, and verifies each message. */
export async function readFeed(grantor: Grantor, server: TestClient, query: Record<string, string> = {}): Promise<FeedReply> {
  const answer = await askFeed(grantor, server, query)
  if (answer.status !== 200) throw new Error(`the feed answered ${answer.status}: ${answer.body}`)
  const { cursor, messages } = answer.json() as { cursor: string; messages: string[] }
  return { answer, cursor, messages: await Promise.all(messages.map((message) => openMessage(grantor, server, message))) }
}

export async function openMessage(grantor: Grantor, server: TestClient, message: string): Promise<EndingsClaims> {
  const keys = createRemoteJWKSet(new URL('/oauth/jwks', grantor.authUrl))
  const { payload } = await jwtVerify<EndingsClaims>(message, keys, {
    typ: 'endings+jwt',
    issuer: grantor.authUrl,
    audience: server.resourceServer ?? '',
    currentDate: new Date(grantor.clock.now() * 1000),
  })
  return payload
}

/** The entries of messages, in hexadecimal digits. */
export function entriesOf(messages: readonly EndingsClaims[], kind: 'ended' | 'clients' = 'ended'): string[] {
  return messages.flatMap((message) =>
    Object.values(message[kind] ?? {}).flatMap((text) => Buffer.from(text, 'base64url').toString('hex').match(/.{32}/g) ?? []),
  )
}

export const entryOfUuid = (uuid: string): string => uuid.replaceAll('-', '')

export const entryOfText = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)
