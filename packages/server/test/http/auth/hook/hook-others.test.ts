/** The hook beside other checks of a refresh: contract wallets, and a second node. */
import { expect, onTestFinished, test } from 'vitest'
import { appOf, claimsOf, tokensOf } from '../../../support/app.ts'
import { startOnChain } from '../../../support/contract-login.ts'
import { answerWith, startHook } from '../../../support/hook.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { startGrantor } from '../../../support/start.ts'
import { requestOf, Walk } from '../../../support/walk.ts'
import { changeOwner, owner } from '../../../support/wallet-contracts.ts'

async function aHook() {
  const hook = await startHook()
  onTestFinished(() => hook.close())
  return { hook, environment: { ...hook.environment, GRANTOR_HOOK_TIMEOUT_MS: '10000' } }
}

test('A contract wallet needs both: the yes of the hook, and its present owner', async () => {
  const { hook, environment } = await aHook()
  const home = await startOnChain({ environment })
  onTestFinished(() => home.close())
  const wallet = await home.changeableWalletOf(owner('alice'))
  const connected = await home.connect(wallet)
  expect(hook.questions.at(-1)).toMatchObject({ occasion: 'code', wallet: wallet.address, wallet_kind: 'contract' })
  hook.answer = { answer: 'no' }
  const refresh = () => connected.walk.refresh(home.client, connected.tokens.refresh_token)
  expect(await home.questions(async () => expectRefusal(await refresh(), 'invalid_grant'))).toEqual([])
  expect(await home.grantOf(connected)).toMatchObject({ generation: 0, endedAt: null })
  hook.answer = { answer: 'yes' }
  await home.chain.send(wallet.address, changeOwner(owner('bob').address))
  expectRefusal(await refresh(), 'invalid_grant')
  expect(await home.grantOf(connected)).toMatchObject({ endReason: 'wallet_changed' })
})

test('Simultaneous refreshes on two nodes get one refresh token, and each node calls the hook once', async () => {
  const { hook, environment } = await aHook()
  const first = await startGrantor({ environment })
  const second = await startGrantor({ environment, databasePath: first.databasePath, clock: first.clock })
  onTestFinished(async () => {
    await second.close()
    await first.close()
  })
  const client = await first.createClient()
  await second.noticeChanges()
  const walk = new Walk(first)
  await walk.signIn(requestOf(client))
  const tokens = await appOf(first, client, walk).freshTokens()
  hook.questions.length = 0
  hook.answer = (_, response) => void setTimeout(() => answerWith(response, { answer: 'yes' }), 20)
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, at) => new Walk(at % 2 ? first : second).refresh(client, tokens.refresh_token)),
  )
  expect(new Set(answers.map((answer) => tokensOf(answer).refresh_token)).size).toBe(1)
  expect(hook.questions).toHaveLength(2)
  expect(await first.store.grants.readGrant(claimsOf(tokens.access_token).grant_id)).toMatchObject({ generation: 1 })
})
