/** The example of packages/resource/README.md, unchanged but for its port. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { freePorts } from '../../server/test/support/free-ports.ts'
import { addApprovals, CREDENTIALS } from './little-approvals.ts'
import { startLittleIssuer, wallet } from './little-issuer.ts'

const PACKAGE = join(import.meta.dirname, '..')
// Below node_modules, so that the example finds its packages.
const FOLDER = join(PACKAGE, '../../node_modules/.cache/grantor/recipes')
const RESOURCE = 'https://api.example.com/shop'

function writeExample(port: number): string {
  const [, example = ''] = /^```js approve\n([\s\S]*?)^```$/m.exec(readFileSync(join(PACKAGE, 'README.md'), 'utf8')) ?? []
  expect(example).toContain('port: 3000')
  mkdirSync(FOLDER, { recursive: true })
  const path = join(FOLDER, 'approve.mjs')
  writeFileSync(path, example.replace('port: 3000', `port: ${port}`))
  return path
}

test('The example of an approval in the README refuses the call until the user has signed, and then lets it pass once', async () => {
  const issuer = await startLittleIssuer()
  const approvals = addApprovals(issuer)
  const [port = 0] = await freePorts(1)
  const settings = { ISSUER: issuer.url, RESOURCE, CLIENT_ID: CREDENTIALS.clientId, CLIENT_SECRET: CREDENTIALS.clientSecret }
  Object.assign(process.env, settings)
  // oxlint-disable-next-line import/no-dynamic-require -- the test has just written this module from a block of the page
  const { app } = (await import(pathToFileURL(writeExample(port)).href)) as { app: { close: () => Promise<unknown> } }
  for (const name of Object.keys(settings)) Reflect.deleteProperty(process.env, name)

  const token = await issuer.sign({ aud: RESOURCE, scope: 'pay', iat: 1_700_000_000, exp: 4_000_000_000 })
  const pay = async () => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`http://localhost:${port}/orders/order-7/payment`, { method: 'POST', headers })
    return [answer.status, await answer.json()]
  }
  expect(await pay()).toMatchObject([403, { state: 'waiting', user_code: 'WDJB-MJHT' }])
  approvals.settle('order-7', 'signed')
  expect(await pay()).toMatchObject([200, { paid: { to: 'Alice' }, signedBy: wallet }])
  expect(await pay()).toMatchObject([403, { state: 'used' }])
  await app.close()
  await issuer.close()
})
