/** docs/reference/protocol.md states the lengths of codes, tokens and ids, so that an app can choose the width of its columns. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startApp } from '../../../support/app.ts'
import { openIdClient, openIdTokens } from '../../../support/openid-app.ts'
import { push } from '../../../support/pushed.ts'
import { parameterOf, requestOf } from '../../../support/walk.ts'

test('Codes, tokens, ids and secrets are no longer than docs/reference/protocol.md states (RFC 6749 §2.2, §4.1.2, §5.1)', async () => {
  const documented = lengthsIn(readFileSync(new URL('../../../../../../docs/reference/protocol.md', import.meta.url), 'utf8'))
  expect(Object.keys(documented)).toEqual([
    'client_id',
    'client_secret',
    'code',
    'response',
    'access_token',
    'id_token',
    'refresh_token',
    'request_uri',
  ])

  const app = await startApp()
  try {
    const client = await openIdClient(app.grantor)
    const request = { response_type: 'code', scope: 'openid wallet' }
    const { location } = await app.walk.authorize(requestOf(client, { ...request, nonce: 'n'.repeat(1800) }))
    const signed = { ...request, nonce: 'n'.repeat(1800), response_mode: 'jwt', state: 's'.repeat(8000) }
    const response = parameterOf((await app.walk.authorize(requestOf(client, signed))).location, 'response')
    const pushed = await push(app.walk, client, requestOf(client, request))
    const { access_token, id_token, refresh_token } = await openIdTokens(app.walk, client)
    const issued: Record<string, string> = {
      client_id: client.id,
      client_secret: client.secret,
      code: parameterOf(location, 'code'),
      response,
      access_token,
      id_token,
      refresh_token,
      request_uri: String(pushed.json().request_uri),
    }
    for (const [name, { usual, most }] of Object.entries(documented)) {
      expect(issued[name]?.length, `the longest ${name} seen`).toBeLessThanOrEqual(most)
      if (usual === most) expect(issued[name], `always has the documented length: ${name}`).toHaveLength(most)
    }
    const { location: plain } = await app.walk.authorize(requestOf(app.client))
    const { location: plainSigned } = await app.walk.authorize(requestOf(app.client, { response_mode: 'jwt' }))
    const usual = { code: parameterOf(plain, 'code'), response: parameterOf(plainSigned, 'response'), access_token, id_token }
    for (const [name, text] of Object.entries(usual))
      expect(Math.abs(text.length / (documented[name]?.usual ?? 0) - 1), `${name}: ${text.length}`).toBeLessThan(0.5)
  } finally {
    await app.close()
  }
})

/** Parses rows such as "| `code` | about 500; at most 12,000 |" or "| `client_id` | 36 |". */
function lengthsIn(page: string): Record<string, { usual: number; most: number }> {
  const [, table = ''] = /\| what \| length \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(page) ?? []
  const rows = table.trimEnd().split('\n')
  return Object.fromEntries(
    rows.flatMap((row) => {
      const [, names = '', lengths = ''] = row.split('|')
      const numbers = [...lengths.matchAll(/\d[\d,]*/g)].map(([number]) => Number(number.replaceAll(',', '')))
      const range = { usual: Math.min(...numbers), most: Math.max(...numbers) }
      return [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, range])
    }),
  )
}
