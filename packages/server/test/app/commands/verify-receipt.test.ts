import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { SignedReceipt } from '../../../src/protocol/wallet/receipt.ts'
import { approvalFields, approvedAction, composeAction } from '../../protocol/wallet/approval-example.ts'
import { composeShort, shortFields, thumbprint, userCode } from '../../protocol/wallet/consent-example.ts'
import { startChain, type TestChain } from '../../support/chain.ts'
import type { TestRpc } from '../../support/chain-rpc.ts'
import { testWallet } from '../../support/wallet.ts'
import { changeableWallet, changeOwner, owner } from '../../support/wallet-contracts.ts'
import { newFolder, run } from '../run.ts'

const folder = newFolder()
const wallet = testWallet(0)
const now = shortFields.issuedAt

function receiptOf(message: string = composeShort()): SignedReceipt {
  return { message, signature: wallet.sign(message), address: wallet.address, chain_id: 1 }
}

function write(content: unknown): string {
  const file = join(folder, 'receipt.json')
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

const verify = (content: unknown, ...options: string[]) => run(['verify-receipt', write(content), ...options], {}, now)

describe('The command verify-receipt', () => {
  test('For a valid receipt, verify-receipt prints the wallet, client, scopes, resources and times, and exits with 0', async () => {
    const message = composeShort({ scopes: ['enhancement', 'read'], resources: ['https://api.example.com/', 'urn:b'] })
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

  test('For a receipt to an app on the device, verify-receipt prints the scheme of its links, and no host', async () => {
    const receipt = receiptOf(composeShort({ redirectUri: 'login.bank.example:/cb' }))
    const { exit, out } = await verify(receipt)
    expect(exit).toBe(0)
    expect(out).toContain("  Allowed        'MyApp' (an app on the device that opens login.bank.example: links)\n")
    expect(JSON.parse((await verify(receipt, '--json')).out).consent).toMatchObject({
      client_host: null,
      client_scheme: 'login.bank.example',
    })
  })

  test.each([
    [10, {}, { client_host: 'app.example.net', redirect_uri: 'https://app.example.net/callback', user_code: null }],
    [
      11,
      { redirectUri: undefined, userCode },
      { client_host: null, redirect_uri: null, user_code: userCode, user_code_shown_by: 'device' },
    ],
    [
      12,
      { userCode },
      { client_host: 'app.example.net', redirect_uri: null, user_code: userCode, user_code_shown_by: 'browser' },
    ],
    [
      12,
      { userCode, redirectUri: 'com.example.app:/cb' },
      { client_host: null, client_scheme: 'com.example.app', redirect_uri: null, user_code_shown_by: 'browser' },
    ],
    [
      12,
      { userCode, redirectUri: 'http://127.0.0.1/', clientId: 'https://agent.example/client.json' },
      { client_host: null, client_scheme: null, redirect_uri: null, user_code_shown_by: 'browser' },
    ],
  ])(
    'For a receipt of the short template %i, verify-receipt prints where the access goes: %j',
    async (template, parties, expected) => {
      const receipt = receiptOf(composeShort({ template, ...parties }))
      expect(JSON.parse((await verify(receipt, '--json')).out)).toMatchObject({
        verdict: 'holds',
        consent: { ...expected, request_id: null, grants: [{ scopes: ['enhancement'] }] },
      })
    },
  )

  test('With --json, verify-receipt prints the verdict and every field of the consent', async () => {
    const { exit, out } = await verify(receiptOf(composeShort({ keyThumbprint: thumbprint })), '--json')
    expect([exit, JSON.parse(out)]).toEqual([
      0,
      {
        verdict: 'holds',
        expired: false,
        wallet: 'ordinary',
        consent: {
          address: wallet.address,
          chain_id: 1,
          client_id: shortFields.clientId,
          client_name: 'MyApp',
          client_host: 'app.example.net',
          client_scheme: null,
          redirect_uri: 'https://app.example.net/callback',
          grants: [{ resource: 'https://api.example.com/', scopes: ['enhancement'] }],
          limit: null,
          issued_at: shortFields.issuedAt,
          expires_at: shortFields.until,
          key_thumbprint: thumbprint,
          domain: 'login.example.com',
          nonce: shortFields.nonce,
          request_id: null,
          user_code: null,
          user_code_shown_by: null,
        },
      },
    ])
  })

  test('For the receipt of an expired consent, verify-receipt prints that the consent is over, and exits with 0', async () => {
    const { exit, out } = await run(['verify-receipt', write(receiptOf())], {}, shortFields.until)
    expect([exit, out.split('\n')[0]]).toEqual([0, 'This receipt holds, and what it allowed is over.'])
  })

  test('An app with a Chinese name is printed by its host, without the name', async () => {
    const { out } = await verify(receiptOf(composeShort({ clientName: '支付宝' })))
    expect(out).toContain('  Allowed        an app at app.example.net\n')
  })

  test.each<[string, object]>([
    ['a changed text', { message: composeShort({ clientName: 'Bank' }) }],
    ["another wallet's signature", { signature: testWallet(1).sign(composeShort()) }],
    ['another chain', { chain_id: 10 }],
    ['another wallet', { address: testWallet(1).address }],
  ])('A receipt with %s is refused with exit code 1, and none of its content is printed', async (_, change) => {
    const { exit, out, err } = await verify({ ...receiptOf(), ...change })
    expect([exit, out.split('\n')[0], err]).toEqual([1, 'This receipt does not hold.', ''])
    expect(out).not.toMatch(/Bank|0x|app\.example/)
  })

  test('With --json, verify-receipt prints the reason why a receipt is refused', async () => {
    expect(JSON.parse((await verify({ ...receiptOf(), chain_id: 10 }, '--json')).out)).toEqual({
      verdict: 'does_not_hold',
      reason: 'chain_differs',
    })
    expect(JSON.parse((await verify('', '--json')).out)).toEqual({ verdict: 'malformed', reason: 'not_a_receipt' })
  })

  test('For a hostile file, verify-receipt prints only printable ASCII characters', async () => {
    const hostile = '\u001b]0;taken\u0007\u001b[2J\u202e\u0000\u009b31m'
    const message = composeShort()
    const contents = [
      hostile,
      { ...receiptOf(), [hostile]: 1 },
      { ...receiptOf(), address: hostile },
      { ...receiptOf(), signature: hostile },
      receiptOf(message.replace('MyApp', hostile)),
      receiptOf(message.replace('https://api.example.com/', hostile)),
      receiptOf(composeShort({ clientName: `My${hostile}App` })),
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
  ])('The path of %s is refused by verify-receipt with exit code 2, because it cannot be read', async (_, file) => {
    expect(await run(['verify-receipt', file])).toMatchObject({
      exit: 2,
      out: '',
      err: expect.stringContaining('cannot be read'),
    })
  })

  test('An endless file is refused by verify-receipt as not a receipt, with exit code 1', async () => {
    const { exit, out } = await run(['verify-receipt', '/dev/zero'])
    expect([exit, out.split('\n')[0]]).toEqual([1, 'This is not a receipt.'])
  })

  test.each(['ftp://rpc.example.org', 'rpc.example.org', 'http://rpc.example.org', 'https://user:key@rpc.example.org'])(
    'The option --rpc %s is refused with exit code 2, and the error does not repeat the URL',
    async (url) => {
      const { exit, err } = await verify(receiptOf(), '--rpc', url)
      expect(exit).toBe(2)
      expect(err).toContain('--rpc must')
      expect(err).not.toContain(url)
    },
  )
})

describe('The receipt of an approval', () => {
  function writeAction(content: unknown): string {
    const file = join(folder, 'action.json')
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
    return file
  }
  const verifyAction = (action: unknown, receipt: SignedReceipt = receiptOf(composeAction()), ...options: string[]) =>
    verify(receipt, '--action', writeAction(action), ...options)

  test('For an approval, verify-receipt prints the action, the author of its words, the app, the scope, the digest and the times', async () => {
    expect(await verify(receiptOf(composeAction()))).toEqual({
      exit: 0,
      out: `This receipt holds.
The key of this wallet signed exactly what follows.
It proves that the owner approved this action once, not that the API carried it out. The words are those of the API; the digest stands for the whole action.

  Who                   0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 (chain 1)
  Once                  'Pay EUR 12.50 to Ada Lovelace (order #4711)'
  Words of              bank.example
  For the app           'MyApp'
  Scope                 payments.make at https://bank.example/
  Digest of the action  ${approvalFields.digest}
  Signed at             2026-11-20 12:00:00 UTC
  Could be used until   2026-11-20 12:10:00 UTC
  Client id             0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20
  Asked by              login.example.com
`,
      err: '',
    })
  })

  test('With --json, verify-receipt prints every field of the approval', async () => {
    const { exit, out } = await verify(receiptOf(composeAction()), '--json')
    expect([exit, JSON.parse(out)]).toEqual([
      0,
      {
        verdict: 'holds',
        expired: false,
        wallet: 'ordinary',
        approval: {
          address: wallet.address,
          chain_id: 1,
          client_id: approvalFields.clientId,
          client_name: 'MyApp',
          summary: approvalFields.summary,
          scope: 'payments.make',
          resource: 'https://bank.example/',
          digest: approvalFields.digest,
          issued_at: approvalFields.issuedAt,
          expires_at: approvalFields.until,
          domain: 'login.example.com',
          nonce: approvalFields.nonce,
        },
      },
    ])
  })

  test('For an approval whose time has passed, verify-receipt prints that it can no longer be used, and exits with 0', async () => {
    const { exit, out } = await run(['verify-receipt', write(receiptOf(composeAction()))], {}, approvalFields.until)
    expect([exit, out.split('\n')[0]]).toEqual([0, 'This receipt holds, and its time to be used is over.'])
  })

  test('With --action, the receipt holds for the file of its action, whatever the order of the members and the spaces are (RFC 8785)', async () => {
    const { order, ...others } = approvedAction
    for (const action of [approvedAction, { order, ...others }, JSON.stringify(approvedAction, null, 4)]) {
      const { exit, out } = await verifyAction(action)
      expect([exit, out]).toEqual([
        0,
        expect.stringMatching(/^This receipt holds\.\n[^]*\nThe digest in its text is the digest of the given action\.\n\n/),
      ])
    }
  })

  test.each<[string, unknown]>([
    ['another amount', { ...approvedAction, amount: '1250.00' }],
    ['a further member', { ...approvedAction, memo: '' }],
    ['a number in place of a text', { ...approvedAction, amount: 12.5 }],
    ['nothing', {}],
  ])('With --action and a file with %s, the receipt does not hold, and none of its content is printed', async (_, action) => {
    const { exit, out, err } = await verifyAction(action)
    expect([exit, out, err]).toEqual([
      1,
      'This receipt does not hold.\nIt is the approval of another action: the digest in its text is not the digest of the given action.\n',
      '',
    ])
    expect(JSON.parse((await verifyAction(action, receiptOf(composeAction()), '--json')).out)).toEqual({
      verdict: 'does_not_hold',
      reason: 'action_differs',
    })
  })

  test('With --action, the receipt of a consent does not hold, because a consent approves no single action', async () => {
    const { exit, out } = await verifyAction(approvedAction, receiptOf())
    expect([exit, out]).toEqual([
      1,
      'This receipt does not hold.\nIt is a consent, which approves no single action, so no action can be compared with it.\n',
    ])
  })

  test('With --action, a receipt that another wallet signed does not hold', async () => {
    const forged = { ...receiptOf(composeAction()), signature: testWallet(1).sign(composeAction()) }
    expect(await verifyAction(approvedAction, forged)).toMatchObject({ exit: 1, out: expect.stringContaining('does not hold') })
  })

  test.each([
    ['no JSON', '{'],
    ['two members with one name', '{"amount":"1","amount":"2"}'],
    ['a lone surrogate', String.raw`{"to":"\ud800"}`],
    ['a number without a double', '{"amount":1e999}'],
    ['too many levels', '['.repeat(65) + ']'.repeat(65)],
    ['a hostile text', '\u001b]0;taken\u0007'],
  ])('A file of --action with %s is refused with exit code 2, and its content is not printed', async (_, content) => {
    const { exit, out, err } = await verifyAction(content)
    expect([exit, out]).toEqual([2, ''])
    expect(err).toMatch(/^[\x20-\x7e\n]+$/)
    expect(err).toContain('--action must')
    expect(err).not.toContain('taken')
  })

  test('A file of --action that is not there is refused with exit code 2', async () => {
    const { exit, err } = await verify(receiptOf(composeAction()), '--action', '/nowhere/action.json')
    expect([exit, err]).toEqual([2, expect.stringContaining('--action cannot be read')])
  })
})

test('The command verify-receipt - reads the receipt from standard input, in a process of its own', async () => {
  const bin = fileURLToPath(new URL('../../../bin/grantor.js', import.meta.url))
  const results = [receiptOf(composeShort({ until: 4_000_000_000 })), { ...receiptOf(), chain_id: 10 }].map(async (receipt) => {
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

describe('The receipt of a contract wallet', () => {
  const key = owner('owner of the contract wallet')
  let chain: TestChain
  let other: TestRpc
  let receipt: SignedReceipt
  beforeAll(async () => {
    chain = await startChain()
    other = await chain.openRpc()
    const address = await chain.deploy(changeableWallet(key.address))
    const message = composeShort({ address, chainId: chain.chainId })
    receipt = { message, signature: key.sign(message), address, chain_id: chain.chainId }
  })
  afterEach(() => {
    chain.setFault(null)
    other.setFault(null)
    chain.asked.length = 0
  })
  afterAll(() => chain.close())

  const verifyWith = (content: unknown, ...urls: string[]) => verify(content, ...urls.flatMap((url) => ['--rpc', url]))
  const firstLine = ({ exit, out }: { exit: number; out: string }) => [exit, out.split('\n')[0]]

  test('The receipt of a contract wallet is valid if all given RPCs confirm its signature (ERC-1271)', async () => {
    const { exit, out } = await verifyWith(receipt, chain.url, other.url)
    expect([exit, out.split('\n').slice(0, 2)]).toEqual([
      0,
      ['This receipt holds.', 'This is a contract wallet, and its chain now confirms its signature over exactly what follows.'],
    ])
    expect(out).toContain(`${receipt.address} (chain ${chain.chainId})`)
  })

  test('The receipt of a contract wallet is refused if its text was changed', async () => {
    const message = composeShort({ address: key.address, chainId: chain.chainId, clientName: 'Bank' })
    const changed = { ...receipt, message: message.replace(key.address, receipt.address) }
    expect(firstLine(await verifyWith(changed, chain.url))).toEqual([1, 'This receipt does not hold.'])
  })

  test('If an RPC denies the signature that another confirms, is rate limited or is of another chain, the receipt could not be checked', async () => {
    for (const fault of ['deny', '429', 'other_chain'] as const) {
      other.setFault(fault)
      const { exit, out } = await verifyWith(receipt, chain.url, other.url)
      expect([fault, exit, out.split('\n')[0]]).toEqual([fault, 1, 'This receipt could not be checked.'])
    }
  })

  test('With --json, verify-receipt names the host of an RPC that failed, and not its whole URL, which may hold a key', async () => {
    chain.setFault('429')
    const { out } = await verify(receipt, '--json', '--rpc', `${chain.url}/KEY`)
    expect(JSON.parse(out)).toEqual({ verdict: 'could_not_check', reason: `${new URL(chain.url).host}: http_429` })
  })

  test('Without --rpc, the receipt of a contract wallet is refused, and the output explains that contract wallets are an exception', async () => {
    const { exit, out } = await verifyWith(receipt)
    expect([exit, out]).toEqual([1, expect.stringContaining('Contract wallets are the exception')])
  })

  test('The receipt of a contract wallet is refused after the owner that signed it was removed', async () => {
    await chain.send(receipt.address, changeOwner(owner('another').address))
    expect(firstLine(await verifyWith(receipt, chain.url))).toEqual([1, 'This receipt does not hold.'])
  })

  test('No RPC is called for the receipt of an ordinary wallet', async () => {
    expect(await verifyWith(receiptOf(), chain.url)).toMatchObject({ exit: 0 })
    expect(chain.asked).toEqual([])
  })
})
