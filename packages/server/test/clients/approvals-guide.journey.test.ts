/** The blocks of docs/guides/approvals.md: the commands pasted one after another, and the programs run as they stand there. */
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as mcp from '@modelcontextprotocol/client'
import { expect } from 'vitest'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { freePorts } from '../support/free-ports.ts'
import { blocksOf } from '../support/page-blocks.ts'
import { Development, TEST_ACCOUNT } from './pasted-page.ts'

const BLOCKS = blocksOf('guides/approvals.md')
/** The line of the page for a checkout, whose packages are not built. */
const CHECKOUT = 'export NODE_OPTIONS=--conditions=grantor-source'
const MODULES = join(import.meta.dirname, '../../../../node_modules')

const used = new Set<string>()

/** The block of the page that is this text, or otherwise the only block that contains it. */
function blockWith(part: string): string {
  const same = BLOCKS.find(({ text }) => text.trim() === part)
  const [found, ...more] = same ? [same] : BLOCKS.filter(({ text }) => text.includes(part))
  if (!found || more.length > 0) throw new Error(`${found ? more.length + 1 : 0} blocks contain ${part}`)
  used.add(found.text)
  return found.text
}

type Json = Record<string, unknown>

class Guide {
  readonly #development: Development
  readonly #ports: readonly number[]

  private constructor(development: Development, ports: readonly number[]) {
    this.#development = development
    this.#ports = ports
  }

  /** A project with the files of the page, in which the commands of the first step have run. */
  static async start(): Promise<Guide> {
    const guide = new Guide(await Development.start(), await freePorts(2))
    const { folder } = guide.#development
    symlinkSync(MODULES, join(folder, 'node_modules'))
    for (const name of ['shop', 'api', 'mcp'])
      writeFileSync(join(folder, `${name}.mjs`), guide.#local(blockWith(`// ${name}.mjs`)))
    await guide.#development.paste(CHECKOUT)
    await guide.paste('resources create')
    return guide
  }

  /** The page's ports 3000 and 3001 are free ports of the test. */
  #local(text: string): string {
    return text.replaceAll(/\b300([01])\b/g, (_, digit: string) => String(this.#ports[Number(digit)]))
  }

  paste(part: string): Promise<string> {
    return this.#development.paste(this.#local(blockWith(part)))
  }

  /** Signs the user in as the page does. Each sign-in begins a new grant. */
  async signIn(): Promise<void> {
    expect(await this.paste('test-token')).toBe('')
  }

  variable(name: string): Promise<string> {
    return this.#development.variable(name)
  }

  sign(approvalUri: unknown): Promise<string> {
    return this.#development.signAction(String(approvalUri))
  }

  async reachable(digit: 0 | 1): Promise<string> {
    const url = `http://localhost:${this.#ports[digit]}/`
    await expect
      .poll(
        () =>
          fetch(url).then(
            () => true,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true)
    return url
  }

  /** Runs a program of the page in the background of the shell. */
  run(command: string): Promise<string> {
    return this.#development.paste(command)
  }

  get issuer(): string {
    return this.#development.issuer
  }

  async stop(): Promise<void> {
    await this.#development.paste('kill $(jobs -p)')
    await this.#development.stop()
  }
}

const test = base.extend(
  'guide',
  FILE,
  started(Guide.start, (guide) => guide.stop()),
)

const approved = expect.stringContaining('<title>Approved')

test('The Express API of the page for approvals refuses a payment with a link until the wallet has signed, and then pays once', async ({
  guide,
}) => {
  await guide.signIn()
  await guide.paste('node api.mjs &')
  await guide.reachable(0)
  const refused = JSON.parse(await guide.paste('pay payment-7')) as Json
  const printed = JSON.parse(blockWith('approval_required')) as Json
  expect(Object.keys(refused)).toEqual(Object.keys(printed))
  const { type, title, status, detail, state } = printed
  expect(refused).toMatchObject({ type, title, status, detail, state })
  expect(await guide.sign(refused.approval_uri)).toEqual(approved)

  const [paid = '', again = ''] = (await guide.paste('pay payment-7\npay payment-7')).split('\n')
  expect(JSON.parse(paid)).toMatchObject({ paid: { to: 'Alice', amount: '20', currency: 'USDC' }, signedBy: TEST_ACCOUNT })
  expect(JSON.parse(again)).toMatchObject({ status: 403, state: 'used' })
})

test('The commands of the page for approvals ask, wait, use and verify the receipt with the action', async ({ guide }) => {
  await guide.signIn()
  await guide.paste('> action.json')
  const asked = JSON.parse(await guide.paste('ASKED=$(curl')) as Json
  expect(asked).toMatchObject({ state: 'waiting', expires_in: 600 })
  const waiting = guide.paste('?wait=30')
  expect(await guide.sign(asked.approval_uri)).toEqual(approved)
  expect(JSON.parse(await waiting)).toMatchObject({ state: 'signed', summary: 'Pay 5 USDC to Bob' })
  const first = await guide.paste('approvals/use')
  expect(JSON.parse(first)).toMatchObject({ state: 'used', receipt: { address: TEST_ACCOUNT } })
  expect(await guide.paste('approvals/use')).toBe(first)
  const verified = await guide.paste('verify-receipt')
  expect(verified).toContain('This receipt holds.')
  expect(verified).toContain('The digest in its text is the digest of the given action.')
})

test('The MCP tool of the page for approvals gives the link as text, asks with the digest of the commands, and pays after the signature', async ({
  guide,
}) => {
  await guide.signIn()
  const token = await guide.variable('TOKEN')
  await guide.run('node mcp.mjs &')
  const url = new URL('/shop', await guide.reachable(1))
  const client = new mcp.Client({ name: 'agent', version: '1.0.0' })
  await client.connect(new mcp.StreamableHTTPClientTransport(url, { authProvider: { token: async () => token } }))
  const pay = { name: 'pay', arguments: { number: 'payment-8' } }
  const refused = await client.callTool(pay)
  expect(refused.isError).toBe(true)
  const [link] = /http\S+\/approve\/\S+/.exec(JSON.stringify(refused.content).replaceAll(String.raw`\n`, ' ')) ?? []
  // The commands ask about the same payment: another digest would be 409.
  await guide.paste('> action.json')
  expect(JSON.parse(await guide.paste('ASKED=$(curl'))).toMatchObject({ state: 'waiting', approval_uri: link })
  expect(await guide.sign(link)).toEqual(approved)
  expect(await client.callTool(pay)).toMatchObject({ content: [{ type: 'text', text: 'Paid: payment-8' }] })
  await client.close()
})

test('The command of the page for approvals makes a webhook, and the message of the page has the members of a line', async ({
  guide,
}) => {
  expect(await guide.paste('webhooks create')).toContain('https://push.example.com/grantor')
  const printed = JSON.parse(blockWith('"timestamp"')) as { type: string; data: { details: Record<string, string> } & Json }
  const lines = await guide.run(`npx grantor audit list --data ./data --event ${printed.type} --json`)
  const line = JSON.parse(lines.split('\n')[0] ?? '') as typeof printed.data
  expect(Object.keys(line)).toEqual(expect.arrayContaining(Object.keys(printed.data)))
  expect(Object.keys(line.details)).toEqual(Object.keys(printed.data.details))
  expect(line.details.approval_uri).toBe(`${guide.issuer}/approve/${line.details.approval_id}`)
})

test('The page for approvals has the line for a checkout', () => {
  expect(readFileSync(new URL('../../../../docs/guides/approvals.md', import.meta.url), 'utf8')).toContain(`\`${CHECKOUT}\``)
})

test('No block of the page for approvals is missing in the tests of this file', () => {
  expect(BLOCKS.filter(({ text }) => !used.has(text))).toEqual([])
})
