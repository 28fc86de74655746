/** The code of docs/guides/coming-from-elsewhere.md: the account of an address, and a second wallet that is linked after two new signatures. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import { newFolder } from '../app/run.ts'
import { test as base } from '../support/fixtures.ts'
import { blocksOf } from '../support/page-blocks.ts'
import type { Grantor } from '../support/start.ts'
import { Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'
import { register, writeRecipe } from './recipe.ts'

const PAGE = 'coming-from-elsewhere'
const [OWN, OTHER, THIRD] = [testWallet(0), testWallet(1), testWallet(2)]

type Checks = { maxAge: number }
type Page = {
  accountOf(address: string): string
  findAccount(address: string): string | undefined
  beginProof(): Promise<{ to: URL; checks: Checks }>
  finishProof(cameBack: string, checks: Checks): Promise<string>
  link(account: string, own: string, other: string): void
}

let written = 0

async function importPage(grantor: Grantor): Promise<Page> {
  const { client_id, client_secret } = await register(grantor, 'register', {}, PAGE)
  Object.assign(process.env, {
    ISSUER: grantor.authUrl,
    CLIENT_ID: client_id,
    CLIENT_SECRET: client_secret,
    REDIRECT_URI: 'https://app.example.net/callback',
    ACCOUNTS_FILE: join(newFolder(), 'accounts.sqlite'),
  })
  const textOf = (mark: string) => blocksOf(`guides/${PAGE}.md`).find((block) => block.mark === mark)?.text ?? expect.fail(mark)
  const accounts = pathToFileURL(writeRecipe(`accounts.${written++}.mjs`, textOf('accounts'))).href
  const link = pathToFileURL(writeRecipe(`link.${written++}.mjs`, textOf('link').replace('./accounts.js', accounts))).href
  // oxlint-disable-next-line import/no-dynamic-require -- the test has just written these modules from blocks of the page
  return { ...(await import(accounts)), ...(await import(link)) } as Page
}

const test = base.extend('code', async ({ grantor }) => importPage(grantor))

test('Every spelling of an address has the same account, and another address has another account', ({ code }) => {
  const account = code.accountOf(OWN.address)
  expect(code.accountOf(OWN.address.toLowerCase())).toBe(account)
  expect(code.accountOf(OTHER.address)).not.toBe(account)
})

test('A second wallet is linked after both wallets have signed, although the browser has a session of the first one', async ({
  grantor,
  code,
}) => {
  const account = code.accountOf(OWN.address)
  const walk = new Walk(grantor)
  const proofOf = async (wallet: typeof OWN) => {
    walk.wallet = wallet
    const { to, checks } = await code.beginProof()
    // Throws if the service answers with a code without a new signature.
    return code.finishProof((await walk.signIn(to.search.slice(1))).to, checks)
  }
  const own = await proofOf(OWN)
  const other = await proofOf(OTHER)
  expect([own, other]).toEqual([OWN.address, OTHER.address])
  code.link(account, own, other)
  expect(code.accountOf(OTHER.address)).toBe(account)

  code.accountOf(THIRD.address)
  expect(() => code.link(account, own, THIRD.address)).toThrow('an account of its own')
  expect(() => code.link(account, THIRD.address, OWN.address)).toThrow('a wallet of this account')
})

test('A code of an old session is no proof, if the browser removes max_age from the request', async ({ grantor, code }) => {
  const walk = new Walk(grantor)
  grantor.clock.advance(-600)
  await walk.signIn((await code.beginProof()).to.search.slice(1))
  grantor.clock.advance(600)
  const { to, checks } = await code.beginProof()
  to.searchParams.delete('max_age')
  const { location } = await walk.authorize(to.search.slice(1))
  expect(location).toContain('code=')
  await expect(code.finishProof(location, checks)).rejects.toMatchObject({ cause: { cause: { claim: 'auth_time' } } })
})
