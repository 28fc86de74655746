/** The example of a hook: a scope that depends on an ERC-721 balance on a real chain. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createTokenGate } from '../../../../examples/token-gate/index.ts'
import { appOf, tokensOf } from '../support/app.ts'
import { startChain } from '../support/chain.ts'
import { HOOK_SECRET } from '../support/hook.ts'
import { startGrantor, TestClock } from '../support/start.ts'
import { movingTo, parameterOf, requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

/** A contract with `balanceOf(address)` of ERC-721. Any other call stores a balance: four bytes, the address, the balance. */
const BALANCES =
  '0x6024600c60003960246000f3600035 60e01c6370a08231146017576024356004355500 5b60043554600052 60206000f3'.replaceAll(' ', '')
const word = (value: string) => value.replace('0x', '').padStart(64, '0')

async function start() {
  const chain = await startChain()
  onTestFinished(() => chain.close())
  const contract = await chain.deploy(BALANCES)
  const clock = new TestClock()
  const printed: string[] = []
  const gate = createTokenGate({
    secret: HOOK_SECRET,
    rpcUrl: chain.url,
    contract,
    scope: 'profile',
    blocked: [testWallet(2).address.toLowerCase()],
    print: (line) => printed.push(line),
    now: clock.now,
  })
  gate.listen(0, '127.0.0.1')
  await once(gate, 'listening')
  onTestFinished(() => void gate.close())
  const { port } = gate.address() as AddressInfo
  const grantor = await startGrantor({
    clock,
    environment: {
      GRANTOR_HOOK_URL: `http://localhost:${port}/`,
      GRANTOR_HOOK_SECRET: HOOK_SECRET,
      GRANTOR_HOOK_TIMEOUT_MS: '10000',
    },
  })
  onTestFinished(() => grantor.close())
  const client = await grantor.createClient({ scopes: ['enhancement', 'profile'] })
  const setBalance = (wallet: string, balance: number) =>
    chain.send(contract, `0x00000000${word(wallet.toLowerCase())}${word(balance.toString(16))}`)
  return { chain, clock, grantor, client, setBalance, port, printed }
}

test('A wallet gets the scope while it holds a token: at a code, and at the refresh after it bought or sold one', async () => {
  const { clock, grantor, client, setBalance } = await start()
  const walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
  const first = await appOf(grantor, client, walk).freshTokens({ scope: 'enhancement profile' })
  expect(first.scope).toBe('enhancement')
  const refreshed = async (token: string) => {
    // An answer counts for a minute.
    clock.advance(61)
    return tokensOf(await walk.refresh(client, token))
  }
  await setBalance(walk.wallet.address, 1)
  const second = await refreshed(first.refresh_token)
  expect(second.scope).toBe('enhancement profile')
  await setBalance(walk.wallet.address, 0)
  const third = await refreshed(second.refresh_token)
  expect(third.scope).toBe('enhancement')
})

test('A wallet of the list gets nothing, and while the chain does not respond no wallet gets the scope', async () => {
  const { chain, grantor, client, port, printed } = await start()
  const blocked = new Walk(grantor, testWallet(2))
  const answer = await blocked.complete(await blocked.prove(await blocked.challenge(requestOf(client))))
  expect(parameterOf(movingTo(answer), 'error')).toBe('access_denied')
  const walk = new Walk(grantor)
  await walk.signIn(requestOf(client, { scope: 'enhancement' }))
  chain.setFault('500')
  expect((await walk.authorize(requestOf(client, { scope: 'profile' }))).status).toBe(503)
  expect(printed).toEqual(['the chain responded with status 500'])
  expect((await walk.authorize(requestOf(client, { scope: 'enhancement' }))).status, 'needs no chain').toBe(302)
  const unsigned = await fetch(`http://localhost:${port}/`, { method: 'POST', body: '{"data":{"wallet":"0x","scopes":[]}}' })
  expect(unsigned.status).toBe(401)
})
