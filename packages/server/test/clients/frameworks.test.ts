/** Independent libraries that sign people in inside a web framework, with the recipes of docs/guides/clients.md. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { Auth, type AuthConfig } from '@auth/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePorts } from '../support/free-ports.ts'
import { type Grantor, startGrantor } from '../support/start.ts'
import { Walk } from '../support/walk.ts'
import { importRecipe, register } from './recipe.ts'
import { Visitor } from './visitor.ts'

let grantor: Grantor
let server: Server | undefined
beforeAll(async () => {
  grantor = await startGrantor()
})
afterAll(async () => {
  server?.close()
  await grantor.close()
})

const queryOf = (to: string) => new URL(to).search.slice(1)

test('An app with passport-oauth2 signs in with state and PKCE, reads userinfo, refreshes, and revokes at sign-out', async () => {
  const [port] = await freePorts(1)
  const appUrl = `http://localhost:${port}`
  const client = await register(grantor, 'passport-oauth2', { 'https://app.example.net': appUrl })
  const { app } = await importRecipe<{ app: RequestListener }>('passport-oauth2', {
    ISSUER: grantor.authUrl,
    CLIENT_ID: client.client_id,
    CLIENT_SECRET: client.client_secret,
    APP_URL: appUrl,
    SESSION_SECRET: 'a session secret of this test',
  })
  server = createServer(app).listen(port, '127.0.0.1')
  await once(server, 'listening')

  const visitor = new Visitor()
  const walk = new Walk(grantor)
  const { to: responseUrl } = await walk.signIn(queryOf((await visitor.visit(`${appUrl}/login`)).to))
  expect((await visitor.visit(responseUrl)).to).toBe(`${appUrl}/me`)
  expect(JSON.parse((await visitor.visit(`${appUrl}/me`)).body)).toEqual({ wallet: walk.wallet.address })

  for (let time = 0; time < 2; time++)
    expect(JSON.parse((await visitor.visit(`${appUrl}/refresh`, {})).body)).toEqual({ refreshed: true })
  expect((await visitor.visit(`${appUrl}/logout`, {})).to).toBe(`${appUrl}/`)
  expect(JSON.parse((await visitor.visit(`${appUrl}/me`)).body)).toEqual({ wallet: null })
  expect(grantor.events.at(-1)).toMatchObject({ event: 'grant_ended', reason: 'revoked', client_id: client.client_id })
})

test('An app with Auth.js signs in with PKCE, state and nonce, has the wallet in its session, and signs out', async () => {
  const client = await register(grantor, 'auth-js')
  const { grantor: provider, callbacks } = await importRecipe<{
    grantor: AuthConfig['providers'][number]
    callbacks: NonNullable<AuthConfig['callbacks']>
  }>('auth-js', { ISSUER: grantor.authUrl, CLIENT_ID: client.client_id, CLIENT_SECRET: client.client_secret })
  const config = { providers: [provider], callbacks, secret: 'a secret of this test', trustHost: true, basePath: '/auth' }
  const visitor = new Visitor((request) => Auth(request, config))
  const auth = 'https://app.example.net/auth'
  const csrfToken = async () => (JSON.parse((await visitor.visit(`${auth}/csrf`)).body) as { csrfToken: string }).csrfToken

  const walk = new Walk(grantor)
  const { to } = await visitor.visit(`${auth}/signin/grantor`, { csrfToken: await csrfToken(), callbackUrl: '/private' })
  const { to: responseUrl } = await walk.signIn(queryOf(to))
  expect((await visitor.visit(responseUrl)).to).toBe('https://app.example.net/private')
  expect(JSON.parse((await visitor.visit(`${auth}/session`)).body)).toMatchObject({ user: { wallet: walk.wallet.address } })

  await visitor.visit(`${auth}/signout`, { csrfToken: await csrfToken() })
  expect(JSON.parse((await visitor.visit(`${auth}/session`)).body)).toBeNull()
})
