/** Lifetimes and limits of one client on the command line, in a file of `apply`, and in a form of the console. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test as plain } from 'vitest'
import { ConsoleBrowser, hiddenFields } from '../../operators/console/console-browser.ts'
import { addOperator, OWNER } from '../../operators/console/visit.ts'
import { test as base } from '../../support/fixtures.ts'
import { newDatabase, newFolder, run } from '../run.ts'

const APP = ['clients', 'create', '--name', 'A', '--redirect-uri', 'https://app.example.com/callback']

plain(
  'The command line registers, shows, changes and removes the lifetimes and limits of a client, within their ranges',
  async () => {
    const { env } = await newDatabase()
    const created = await run([...APP, '--access-token-lifetime', '120', '--token-limit', '300'], env)
    expect(created.out).toMatch(/lifetime of access tokens +120 seconds\n[^]*limit of token requests +300 a minute\n/i)
    const id = /client_id +(\S+)/.exec(created.out)?.[1] ?? ''
    const { out } = await run(['clients', 'update', id, '--no-access-token-lifetime', '--code-lifetime', '30', '--json'], env)
    expect(JSON.parse(out)).toMatchObject({ access_token_lifetime: null, code_lifetime: 30, token_limit: 300 })
    const beyond = await run(['clients', 'update', id, '--code-lifetime', '601'], env)
    expect([beyond.exit, beyond.err]).toEqual([
      2,
      expect.stringContaining('--code-lifetime must be a whole number from 1 to 600'),
    ])
    const idle = await run(['clients', 'update', id, '--refresh-idle-lifetime', '7200', '--grant-lifetime', '3600'], env)
    expect(idle.err).toContain('unused refresh tokens must not be longer than the lifetime of grants')
  },
)

plain('A lifetime beyond the bound of the service is a warning', async () => {
  const { env } = await newDatabase()
  const addresses = { GRANTOR_AUTH_URL: 'https://auth.example.com', GRANTOR_LOGIN_URL: 'https://login.example.com' }
  const create = (more: Record<string, string>) =>
    run([...APP, '--access-token-lifetime', '3600'], { ...env, ...addresses, ...more })
  const warning = 'The service lets access tokens live for at most 600 seconds, so the 3600 of this client have no effect.'
  expect((await create({})).out).toContain(warning)
  expect((await create({ GRANTOR_ACCESS_TOKEN_LIFETIME_MAX: '7200' })).out).not.toContain('have no effect')
  const swapped = await create({ GRANTOR_ACCESS_TOKEN_LIFETIME_MAX: '60' })
  expect(swapped.err).toContain('GRANTOR_ACCESS_TOKEN_LIFETIME must not be longer than GRANTOR_ACCESS_TOKEN_LIFETIME_MAX')
})

plain('A file of apply has the lifetimes and limits of a client, and a value of another kind is a fault', async () => {
  const { env } = await newDatabase()
  const file = join(newFolder(), 'grantor.yaml')
  const entry = (value: string) =>
    writeFileSync(
      file,
      `clients:\n  - name: A\n    type: public\n    redirect_uris: [https://a.example.com/cb]\n    grant_lifetime: ${value}\n`,
    )
  entry('3600')
  expect((await run(['apply', file, '--yes'], env)).exit).toBe(0)
  expect((await run(['export'], env)).out).toContain('grant_lifetime: 3600\n')
  for (const value of ['"3600"', '59', '1.5', '[3600]']) {
    entry(value)
    expect((await run(['apply', file, '--yes'], env)).err).toContain(
      'clients[0].grant_lifetime must be a whole number from 60 to 31536000',
    )
  }
})

const test = base.extend('options', { admin: true })

test('The form of the console sets a lifetime of a client, and an empty field removes it', async ({ grantor }) => {
  await addOperator(grantor, OWNER, 'owner')
  const client = await grantor.createClient({ accessTokenLifetime: 60, grantTypes: ['authorization_code'] })
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  const path = `/console/clients/${client.id}/change`
  const change = async (value: string) => {
    const form = await browser.get(path)
    const fields = {
      name: client.name,
      redirect_uris: client.redirectUris.join('\n'),
      scopes: 'enhancement',
      default_scopes: 'enhancement',
      grant_types: 'authorization_code',
    }
    const question = await browser.post(path, { ...hiddenFields(form), ...fields, access_token_lifetime: value })
    await browser.post(path, hiddenFields(question))
    return (await grantor.store.clients.readClient(client.id))?.accessTokenLifetime
  }
  expect(await change('120')).toBe(120)
  expect((await browser.get(`/console/clients/${client.id}`)).body).toContain('120 seconds')
  expect(await change('')).toBeNull()
})
