/** NUL in a request is a fault of the request. PostgreSQL cannot store NUL. */
import { expect } from 'vitest'
import { adminCaller } from '../../support/admin.ts'
import { test as base, FILE } from '../../support/fixtures.ts'
import { ConsoleBrowser } from '../console/console-browser.ts'
import { addOperator, OWNER } from '../console/visit.ts'

const test = base
  .extend('options', ({ database }) => ({ admin: true, postgres: database.address }))
  .extend('owner', FILE, ({ grantor }) => adminCaller(grantor, 'owner'))

test('A parameter of the path or of the query with NUL is refused before it reaches the store', async ({ owner }) => {
  for (const [method, path] of [
    ['GET', '/v1/clients/%00'],
    ['PATCH', '/v1/clients/%00'],
    ['DELETE', '/v1/clients/a%00b'],
    ['GET', '/v1/resources/%00'],
    ['DELETE', '/v1/resources/%00'],
    ['GET', '/v1/grants/%00'],
    ['GET', '/v1/grants/%00/receipt'],
    ['DELETE', '/v1/grants/%00'],
    ['DELETE', '/v1/sessions/%00'],
    ['GET', '/v1/grants?client_id=a%00b'],
    ['GET', '/v1/audit?operator=%00'],
    ['GET', '/v1/audit?grant_id=%00'],
    ['GET', '/v1/clients?search=%00'],
  ] as const) {
    const answer = await owner.call(method, path, method === 'PATCH' ? { name: 'Notes' } : undefined)
    expect([method, path, answer.status, answer.json().code]).toEqual([method, path, 422, 'invalid_request'])
  }
})

test('A member of a body with NUL is refused before it reaches the store', async ({ owner }) => {
  const answer = await owner.call('POST', '/v1/grants/end', { wallet: OWNER.address, client_id: 'a\0b' })
  expect([answer.status, answer.json().faults]).toEqual([422, ['client_id in the body contains NUL.']])
})

test('A page of the console whose address contains NUL says that there is no such page or what is at fault', async ({
  grantor,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  const nul = ['/console/clients/%00', '/console/grants/%00', '/console/sessions/%00/end', '/console/wallet/%00/end']
  for (const path of nul) expect([path, (await browser.get(path)).status]).toEqual([path, 404])
  expect((await browser.get('/console/audit?operator=%00')).status).toBe(422)
  expect((await browser.get(`/console/wallet/${OWNER.address}/end?client_id=%00`)).status).toBe(422)
})
