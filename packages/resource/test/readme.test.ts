/** The examples of packages/resource/README.md, unchanged but for their ports. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { freePorts } from '../../server/test/support/free-ports.ts'
import { addApprovals, CREDENTIALS } from './little-approvals.ts'
import { addDraws, GRANT } from './little-draws.ts'
import { type LittleIssuer, startLittleIssuer, wallet } from './little-issuer.ts'

const PACKAGE = join(import.meta.dirname, '..')
// Below node_modules, so that the example finds its packages.
const FOLDER = join(PACKAGE, '../../node_modules/.cache/grantor/recipes')
const RESOURCE = 'https://api.example.com/shop'

function writeExample(name: 'approve' | 'draw', port: number): string {
  const block = new RegExp(`^\`\`\`js ${name}\\n([\\s\\S]*?)^\`\`\`$`, 'm')
  const [, example = ''] = block.exec(readFileSync(join(PACKAGE, 'README.md'), 'utf8')) ?? []
  expect(example).toContain('port: 3000')
  mkdirSync(FOLDER, { recursive: true })
  const path = join(FOLDER, `${name}.mjs`)
  writeFileSync(path, example.replace('port: 3000', `port: ${port}`))
  return path
}

async function startExample(name: 'approve' | 'draw', issuer: LittleIssuer) {
  const [port = 0] = await freePorts(1)
  const settings = { ISSUER: issuer.url, RESOURCE, CLIENT_ID: CREDENTIALS.clientId, CLIENT_SECRET: CREDENTIALS.clientSecret }
  Object.assign(process.env, settings)
  // oxlint-disable-next-line import/no-dynamic-require -- the test has just written this module from a block of the page
  const { app } = (await import(pathToFileURL(writeExample(name, port)).href)) as { app: { close: () => Promise<unknown> } }
  for (const setting of Object.keys(settings)) Reflect.deleteProperty(process.env, setting)
  return { app, port }
}

test('The example of an approval in the README refuses the call until the user has signed, and then lets it pass once', async () => {
  const issuer = await startLittleIssuer()
  const approvals = addApprovals(issuer)
  const { app, port } = await startExample('approve', issuer)

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

test('The example of a draw in the README counts its calls, gives back the rest, and is refused with 403 if the limit is used up', async () => {
  const issuer = await startLittleIssuer()
  const draws = addDraws(issuer)
  const { app, port } = await startExample('draw', issuer)
  const claims = { aud: RESOURCE, scope: 'enhancement', grant_id: GRANT, iat: 1_700_000_000, exp: 4_000_000_000 }
  const token = await issuer.sign(claims)
  const enhance = async () => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`http://localhost:${port}/enhance`, { method: 'POST', headers })
    return [answer.status, await answer.json()]
  }
  expect(await enhance()).toEqual([200, { usesLeft: 1 }])
  expect(draws.left).toEqual({ uses: 1, amount: 5500 })
  expect(await enhance()).toEqual([200, { usesLeft: 0 }])
  expect(await enhance()).toMatchObject([403, { error: 'insufficient_scope' }])
  await app.close()
  await issuer.close()
})
