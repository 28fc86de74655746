import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Receipt } from '../../../src/wallet/receipt.ts'
import { startChain, type TestChain } from '../../support/chain.ts'
import type { TestRpc } from '../../support/chain-rpc.ts'
import { testWallet } from '../../support/wallet.ts'
import { changeableWallet, changeOwner, owner } from '../../support/wallet-contracts.ts'
import { composeConsent, exampleFields, thumbprint } from '../../wallet/consent-example.ts'
import { newFolder, run } from '../run.ts'

const folder = newFolder()
const wallet = testWallet(0)
const now = exampleFields.issuedAt

function receiptOf(message: string = composeConsent()): Receipt {
  return { message, signature: wallet.sign(message), address: wallet.address, chain_id: 1 }
}

function write(content: unknown): string {
  const file = join(folder, 'receipt.json')
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

const verify = (content: unknown, ...options: string[]) => run(['verify-receipt', write(content), ...options], {}, now)

describe('grantor verify-receipt', () => {
  test('says who allowed what to whom until when, and ends with 0', async () => {
    const message = composeConsent({ scopes: ['enhancement', 'read'], resources: ['https://api.example.com/', 'urn:b'] })
    expect(await verify(receiptOf(message))).toEqual({
      exit: 0,
      out: `This receipt holds.
The key of this wallet signed exactly what follows.
It proves what was allowed, not that it still is allowed: the owner may have ended the access since.

  Who            0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 (chain 1)
  Allowed        'MyApp' at app.example.net
  To use         enhancement, read at https://api.example.com/
  To use         enhancement, read at urn:b
  From           2026-11-20 12:00:00 UTC
  Until          2026-12-20 12:00:00 UTC
  Answers go to  https://app.example.net/callback
  Client id      0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20
  Asked by       login.example.com
`,
      err: '',
    })
  })

  test.each([2, 5])(
    'says of an app on the device what it is, also for a receipt of an earlier version: template %i',
    async (template) => {
      const device = { template, redirectUri: 'login.bank.example:/cb', clientHost: 'login.bank.example' }
      const receipt = receiptOf(composeConsent(device))
      const { exit, out } = await verify(receipt)
      expect(exit).toBe(0)
      expect(out).toContain("  Allowed        'MyApp' (an app on the device that opens login.bank.example: links)\n")
      expect(JSON.parse((await verify(receipt, '--json')).out).consent).toMatchObject({
        client_host: null,
        client_scheme: 'login.bank.example',
      })
    },
  )

  test('says the same as JSON', async () => {
    const { exit, out } = await verify(receiptOf(composeConsent({ keyThumbprint: thumbprint })), '--json')
    expect([exit, JSON.parse(out)]).toEqual([
      0,
      {
        verdict: 'holds',
        expired: false,
        wallet: 'ordinary',
        consent: {
          address: wallet.address,
          chain_id: 1,
          client_id: exampleFields.clientId,
          client_name: 'MyApp',
          client_host: 'app.example.net',
          client_scheme: null,
          redirect_uri: 'https://app.example.net/callback',
          grants: [{ resource: 'https://api.example.com/', scopes: ['enhancement'] }],
          issued_at: exampleFields.issuedAt,
          expires_at: exampleFields.until,
          key_thumbprint: thumbprint,
          domain: 'login.example.com',
          nonce: exampleFields.nonce,
          request_id: exampleFields.requestId,
        },
      },
    ])
  })

  test('of a consent that is over says so, and still ends with 0', async () => {
    const { exit, out } = await run(['verify-receipt', write(receiptOf())], {}, exampleFields.until)
    expect([exit, out.split('\n')[0]]).toEqual([0, 'This receipt holds, and what it allowed is over.'])
  })

  test('names an app without a plain name by its host', async () => {
    const { out } = await verify(receiptOf(composeConsent({ clientName: '支付宝' })))
    expect(out).toContain('  Allowed        an app at app.example.net\n')
  })

  test.each<[string, object]>([
    ['a changed text', { message: composeConsent({ clientName: 'Bank' }) }],
    ["another wallet's signature", { signature: testWallet(1).sign(composeConsent()) }],
    ['another chain', { chain_id: 10 }],
    ['another wallet', { address: testWallet(1).address }],
  ])('refuses %s with 1, and repeats nothing of it', async (_, change) => {
    const { exit, out, err } = await verify({ ...receiptOf(), ...change })
    expect([exit, out.split('\n')[0], err]).toEqual([1, 'This receipt does not hold.', ''])
    expect(out).not.toMatch(/Bank|0x|app\.example/)
  })

  test('tells machines why', async () => {
    expect(JSON.parse((await verify({ ...receiptOf(), chain_id: 10 }, '--json')).out)).toEqual({
      verdict: 'does_not_hold',
      reason: 'chain_differs',
    })
    expect(JSON.parse((await verify('', '--json')).out)).toEqual({ verdict: 'malformed', reason: 'not_a_receipt' })
  })

  test('lets nothing of a hostile file reach the terminal but plain characters', async () => {
    const hostile = '\u001b]0;taken\u0007\u001b[2J\u202e\u0000\u009b31m'
    const message = composeConsent()
    const contents = [
      hostile,
      { ...receiptOf(), [hostile]: 1 },
      { ...receiptOf(), address: hostile },
      { ...receiptOf(), signature: hostile },
      receiptOf(message.replace('MyApp', hostile)),
      receiptOf(message.replace('https://api.example.com/', hostile)),
      receiptOf(composeConsent({ clientName: `My${hostile}App` })),
    ]
    for (const content of contents) {
      const { out, err } = await verify(content)
      expect(out + err).toMatch(/^[\x20-\x7e\n]+$/)
    }
    const { err } = await run(['verify-receipt', `/nowhere/${hostile.replaceAll('\0', '')}`])
    expect(err).not.toContain('\u001b')
  })

  test.each([
    ['a file that is not there', '/nowhere/receipt.json'],
    ['a folder', folder],
  ])('refuses %s with 2', async (_, file) => {
    expect(await run(['verify-receipt', file])).toMatchObject({
      exit: 2,
      out: '',
      err: expect.stringContaining('cannot be read'),
    })
  })

  test('reads no more than a megabyte', async () => {
    const { exit, out } = await run(['verify-receipt', '/dev/zero'])
    expect([exit, out.split('\n')[0]]).toEqual([1, 'This is not a receipt.'])
  })

  test.each(['ftp://rpc.example.org', 'rpc.example.org', 'http://rpc.example.org', 'https://user:key@rpc.example.org'])(
    'refuses --rpc %s with 2, without repeating it',
    async (url) => {
      const { exit, err } = await verify(receiptOf(), '--rpc', url)
      expect(exit).toBe(2)
      expect(err).toContain('--rpc must')
      expect(err).not.toContain(url)
    },
  )
})

test('grantor verify-receipt - reads standard input, as a process of its own', async () => {
  const bin = fileURLToPath(new URL('../../../bin/grantor.js', import.meta.url))
  const results = [receiptOf(composeConsent({ until: 4_000_000_000 })), { ...receiptOf(), chain_id: 10 }].map(async (receipt) => {
    const child = spawn(process.execPath, [bin, 'verify-receipt', '-'], { stdio: ['pipe', 'pipe', 'inherit'] })
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
    child.stdin.end(JSON.stringify(receipt))
    const [code] = (await once(child, 'close')) as [number]
    return [code, out.split('\n')[0]]
  })
  expect(await Promise.all(results)).toEqual([
    [0, 'This receipt holds.'],
    [1, 'This receipt does not hold.'],
  ])
})

describe("a contract wallet's receipt", () => {
  const key = owner('owner of the contract wallet')
  let chain: TestChain
  let other: TestRpc
  let receipt: Receipt
  beforeAll(async () => {
    chain = await startChain()
    other = await chain.openRpc()
    const address = await chain.deploy(changeableWallet(key.address))
    const message = composeConsent({ address, chainId: chain.chainId })
    receipt = { message, signature: key.sign(message), address, chain_id: chain.chainId }
  })
  afterEach(() => {
    chain.setFault(null)
    other.setFault(null)
    chain.asked.length = 0
  })
  afterAll(() => chain.close())

  const asking = (content: unknown, ...urls: string[]) => verify(content, ...urls.flatMap((url) => ['--rpc', url]))
  const firstLine = ({ exit, out }: { exit: number; out: string }) => [exit, out.split('\n')[0]]

  test('holds when all RPCs named say so (ERC-1271)', async () => {
    const { exit, out } = await asking(receipt, chain.url, other.url)
    expect([exit, out.split('\n').slice(0, 2)]).toEqual([
      0,
      ['This receipt holds.', 'This is a contract wallet, and its chain now confirms its signature over exactly what follows.'],
    ])
    expect(out).toContain(`${receipt.address} (chain ${chain.chainId})`)
  })

  test('does not hold under a changed text', async () => {
    const message = composeConsent({ address: key.address, chainId: chain.chainId, clientName: 'Bank' })
    const changed = { ...receipt, message: message.replace(key.address, receipt.address) }
    expect(firstLine(await asking(changed, chain.url))).toEqual([1, 'This receipt does not hold.'])
  })

  test('could not be checked when RPCs disagree, do not answer, or are of another chain', async () => {
    for (const fault of ['deny', '429', 'other_chain'] as const) {
      other.setFault(fault)
      const { exit, out } = await asking(receipt, chain.url, other.url)
      expect([fault, exit, out.split('\n')[0]]).toEqual([fault, 1, 'This receipt could not be checked.'])
    }
  })

  test('tells machines which RPC gave no answer, and never its URL, which may hold a key', async () => {
    chain.setFault('429')
    const { out } = await verify(receipt, '--json', '--rpc', `${chain.url}/KEY`)
    expect(JSON.parse(out)).toEqual({ verdict: 'could_not_check', reason: `${new URL(chain.url).host}: http_429` })
  })

  test('without an RPC does not hold, with a word on how to ask its chain', async () => {
    const { exit, out } = await asking(receipt)
    expect([exit, out]).toEqual([1, expect.stringContaining('Contract wallets are the exception')])
  })

  test('no longer holds when its owner was removed', async () => {
    await chain.send(receipt.address, changeOwner(owner('another').address))
    expect(firstLine(await asking(receipt, chain.url))).toEqual([1, 'This receipt does not hold.'])
  })

  test("no RPC is asked about an ordinary wallet's receipt", async () => {
    expect(await asking(receiptOf(), chain.url)).toMatchObject({ exit: 0 })
    expect(chain.asked).toEqual([])
  })
})
