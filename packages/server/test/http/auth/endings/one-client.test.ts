/** A client that revokes its own tokens as fast as it may, for hours. */
import { describe, expect } from 'vitest'
import { claimsOf, tokensOf } from '../../../support/app.ts'
import { entriesOf, entryOfText, insertEndings, readFeed } from '../../../support/feed.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import type { Grantor, TestClient } from '../../../support/start.ts'
import { Walk } from '../../../support/walk.ts'

const API = 'https://api.example.com/'
const FILES = 'https://files.example.com/'

for (const engine of ['SQLite', 'PostgreSQL'] as const) {
  const test = base
    .extend('options', FILE, ({ database }) => (engine === 'SQLite' ? {} : { postgres: database.address }))
    .extend('api', FILE, ({ grantor }) => grantor.createClient({ redirectUris: [], resourceServer: API }))
    .extend('files', FILE, ({ grantor }) => grantor.createClient({ redirectUris: [], resourceServer: FILES }))
    .extend('machine', FILE, ({ grantor }) => createMachine(grantor))
    .extend('other', FILE, ({ grantor }) => createMachine(grantor))

  describe(`One client in a feed that is half full, on ${engine}`, () => {
    test('After 100,000 endings the client has one entry, for the readers of its resource, and the endings of others are in the feed as before', {
      timeout: 240_000,
    }, async ({ grantor, database, api, files, machine, other }) => {
      const onPostgres = engine === 'PostgreSQL' ? database : undefined
      await insertEndings(grantor, { count: 400_000 }, onPostgres)
      await insertEndings(grantor, { count: 101_000, clientId: machine.id, resource: API }, onPostgres)
      const [place, placeOfFiles] = [await readFeed(grantor, api), await readFeed(grantor, files)]

      const walk = new Walk(grantor)
      for (let count = 0; count < 3; count++) await endOwnToken(walk, machine)
      const { jti } = await endOwnToken(walk, other)
      await grantor.renewFeed()
      const { messages } = await readFeed(grantor, api, { cursor: place.cursor })
      expect(messages[0]).toMatchObject({ from: expect.any(Number) })
      expect(entriesOf(messages)).toEqual([entryOfText(`${other.id}\0${jti}`)])
      expect(entriesOf(messages, 'clients')).toEqual([entryOfText(machine.id)])
      const ofFiles = await readFeed(grantor, files, { cursor: placeOfFiles.cursor })
      expect(entriesOf(ofFiles.messages, 'clients')).toEqual([])

      const { access_token } = await ownToken(walk, machine)
      expect((await walk.introspect(api, access_token)).json()).toMatchObject({ active: true })
    })
  })
}

function createMachine(grantor: Grantor): Promise<TestClient> {
  return grantor.createClient({ grantTypes: ['client_credentials'], resources: [API], redirectUris: [] })
}

async function ownToken(walk: Walk, client: TestClient) {
  return tokensOf(await walk.token(client, { grant_type: 'client_credentials', resource: API }))
}

async function endOwnToken(walk: Walk, client: TestClient) {
  const { access_token } = await ownToken(walk, client)
  expect((await walk.revoke(client, access_token)).status).toBe(200)
  return claimsOf(access_token)
}
