/** During a rolling update a node can get a challenge of a newer version, whose text the node cannot compose. */
import { expect } from 'vitest'
import { seal, unseal } from '../../../../src/protocol/keys/sealed.ts'
import { test } from '../../../support/fixtures.ts'
import { requestOf, Walk } from '../../../support/walk.ts'

test('A challenge whose text the node cannot compose is 410 expired, not a wrong signature, and nothing is stored', async ({
  grantor,
  client,
}) => {
  const walk = new Walk(grantor)
  const challenge = await walk.challenge(requestOf(client))
  const { keys } = grantor.deps
  const [template, ...sealed] = unseal(keys, 'grl', challenge) as [number, ...unknown[]]
  expect(seal(keys, 'grl', [template, ...sealed]).length).toBe(challenge.length)
  const newer = seal(keys, 'grl', [template + 97, ...sealed])

  const { signature, ...claim } = await walk.proof(challenge)
  const before = await grantor.rows()
  for (const path of ['/login/message', '/login/accept']) {
    const answer = await walk.loginApi(path, { ...claim, login_challenge: newer, signature })
    expect([answer.status, answer.json().error]).toEqual([410, 'expired'])
  }
  expect(await grantor.rows()).toEqual(before)
})
