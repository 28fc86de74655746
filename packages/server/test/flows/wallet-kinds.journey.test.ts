/** The table of docs/guides/wallets.md: each kind of wallet, with the published contracts, at each place that needs a signature. */
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { TestChain } from '../support/chain.ts'
import { chainTest as base, FILE } from '../support/fixtures.ts'
import { type MetaMaskContracts, metaMaskContracts, type PasskeyAccount } from '../support/metamask-account.ts'
import { passkey } from '../support/passkey.ts'
import { type Safe, safes, signForSafe, swapOwnerCall } from '../support/safe.ts'
import { installWallet, type TestWallet, testWallet } from '../support/wallet.ts'
import { deploying, digits, type Owner, ownedWallet, owner, wrapSignature } from '../support/wallet-contracts.ts'
import { openAccount } from './account-visit.ts'
import { backAtApp, openLogin, visitor, wordsIn } from './login-visit.ts'

type Contracts = { chain: TestChain; makeSafe: Awaited<ReturnType<typeof safes>>; metaMask: MetaMaskContracts }

type Example = {
  wallet: TestWallet
  /** deploys a wallet that is not deployed at its sign-in */
  deploy?: () => Promise<void>
  /** makes the signatures of `wallet` invalid */
  replaceOwner?: () => Promise<void>
}

type Kind = {
  /** a row of the table: the wallet, then the login page, the account page and the refresh */
  row: readonly [name: string, login: string, account: string, refresh: string]
  make(contracts: Contracts): Promise<Example>
}

const alice = owner('alice')
const bob = owner('bob')
const mallory = owner('mallory')

const KINDS: Kind[] = [
  {
    row: ['Ordinary wallet: one key, in an extension, an app or a device', 'yes', 'yes', 'yes'],
    make: async () => ({ wallet: testWallet(0) }),
  },
  {
    row: ['Safe', 'yes, if enough owners have signed', 'yes', 'until an owner who signed is removed'],
    async make({ chain, makeSafe }) {
      const safe = await makeSafe([alice, bob], 2)
      await safe.deploy()
      return { wallet: walletOfSafe(chain, safe, alice, bob), replaceOwner: () => replaceOwner(chain, safe, alice) }
    },
  },
  {
    row: ['Safe that is not deployed yet (ERC-6492)', 'yes', 'yes', 'as for a Safe, before and after it is deployed'],
    async make({ chain, makeSafe }) {
      const safe = await makeSafe([bob], 1)
      const { address, sign } = walletOfSafe(chain, safe, bob)
      const wrap = (message: string): string => wrapSignature(safe.factory, safe.factoryCall, sign(message))
      return { wallet: { address, sign: wrap }, deploy: safe.deploy, replaceOwner: () => replaceOwner(chain, safe, bob) }
    },
  },
  {
    row: ['Smart wallet whose owner is a passkey (WebAuthn, P-256)', 'yes', 'yes', 'until the passkey is replaced'],
    async make({ metaMask }) {
      const account = metaMask.accountOf(passkey('alice'))
      await account.deploy()
      return { wallet: account.wallet, replaceOwner: () => replacePasskey(account) }
    },
  },
  {
    row: [
      'Passkey wallet that is not deployed yet (ERC-6492)',
      'yes',
      'yes',
      'as for a passkey wallet, before and after it is deployed',
    ],
    async make({ metaMask }) {
      const account = metaMask.accountOf(passkey('bob'))
      return { wallet: account.undeployed, deploy: account.deploy, replaceOwner: () => replacePasskey(account) }
    },
  },
  {
    row: ['Account of a key that delegates to a contract (EIP-7702), signed with its key', 'yes', 'yes', 'yes'],
    async make({ chain, metaMask }) {
      const account = owner('an account that delegates')
      await chain.setCode(account.address, `0xef0100${digits(metaMask.delegate)}`)
      return { wallet: account }
    },
  },
  {
    row: ['The same account, with a signature that only its contract accepts', 'no', 'no', '–'],
    async make({ chain }) {
      const { address } = owner('an account that delegates to a contract of another key')
      const delegate = await chain.deploy(deploying(ownedWallet(mallory.address)))
      await chain.setCode(address, `0xef0100${digits(delegate)}`)
      return { wallet: { address, sign: mallory.sign } }
    },
  },
]
const accepted = KINDS.filter(({ row }) => row[1] !== 'no')
const refused = KINDS.filter(({ row }) => row[1] === 'no')

const test = base
  .extend('options', { failureLimit: 1_000_000, p256: true })
  .extend('examples', FILE, async ({ home: { chain } }) => {
    const contracts = { chain, makeSafe: await safes(chain), metaMask: await metaMaskContracts(chain) }
    const examples = new Map<Kind, Example>()
    for (const kind of KINDS) examples.set(kind, await kind.make(contracts))
    return (kind: Kind): Example => examples.get(kind) as Example
  })
  .extend('page', visitor)

test('The table of docs/guides/wallets.md is the table of these tests', () => {
  const page = readFileSync(new URL('../../../../docs/guides/wallets.md', import.meta.url), 'utf8')
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
  expect(rows.slice(0, KINDS.length)).toEqual(KINDS.map(({ row }) => `| ${row.join(' | ')} |`))
})

test.for(accepted)('A wallet of this kind signs in on the login page: $row.0', async (kind, { home, page, examples }) => {
  const { wallet } = examples(kind)
  await installWallet(page, wallet)
  await openLogin(page, home.grantor, home.client)
  await page.locator('.wallet').click()
  await page.locator('#sign').click()
  expect((await backAtApp(page)).has('code')).toBe(true)
})

test.for(accepted)('A wallet of this kind opens the account page: $row.0', async (kind, { home, page, examples }) => {
  const { wallet } = examples(kind)
  expect(await openAccount(page, home.grantor, wallet)).toHaveLength(1)
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Your connected apps')
})

test.for(accepted)(
  'An app of a wallet of this kind refreshes, until the owner is replaced: $row.0',
  async (kind, { home, examples }) => {
    const { wallet, deploy, replaceOwner } = examples(kind)
    const { client } = home
    const connected = await home.connect(wallet)
    const first = await connected.walk.refresh(client, connected.tokens.refresh_token)
    expect(first.status).toBe(200)
    await deploy?.()
    const second = await connected.walk.refresh(client, String(first.json().refresh_token))
    expect(second.status).toBe(200)
    if (replaceOwner === undefined) return
    await replaceOwner()
    const third = await connected.walk.refresh(client, String(second.json().refresh_token))
    expect([third.status, third.json().error]).toEqual([400, 'invalid_grant'])
    expect(await home.grantOf(connected)).toMatchObject({ endReason: 'wallet_changed' })
  },
)

test.for(refused)(
  'A signature of this kind is refused on the login page and on the account page: $row.0',
  async (kind, { home, page, examples }) => {
    const { wallet } = examples(kind)
    await installWallet(page, wallet)
    for (const open of [() => openLogin(page, home.grantor, home.client), () => page.goto(`${home.grantor.authUrl}/account`)]) {
      await open()
      await page.locator('.wallet').click()
      await page.locator('#sign').click()
      expect(await wordsIn(page, 'problem')).toContain('That signature did not come from')
    }
  },
)

function walletOfSafe(chain: TestChain, { address }: Safe, ...owners: Owner[]): TestWallet {
  return { address, sign: (message) => signForSafe(message, address, chain.chainId, owners) }
}

async function replaceOwner(chain: TestChain, safe: Safe, removed: Owner): Promise<void> {
  await chain.sendAs(safe.address, safe.address, swapOwnerCall(removed, mallory))
}

function replacePasskey(account: PasskeyAccount): Promise<void> {
  return account.changeOwner(passkey('mallory'))
}
