/** The blocks of docs/guides/limits.md: the commands pasted one after another, and the program run as it stands there. */
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Limit } from '@grantor/protocol/limit'
import { expect } from 'vitest'
import { writeLimitSentence } from '../../src/protocol/wallet/limit-words.ts'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { freePorts } from '../support/free-ports.ts'
import { blocksOf } from '../support/page-blocks.ts'
import { Development } from './pasted-page.ts'

const PAGE = 'guides/limits.md'
const BLOCKS = blocksOf(PAGE)
const TEXT = readFileSync(new URL(`../../../../docs/${PAGE}`, import.meta.url), 'utf8')
/** The line of the page for a checkout, whose packages are not built. */
const CHECKOUT = 'export NODE_OPTIONS=--conditions=grantor-source'
const MODULES = join(import.meta.dirname, '../../../../node_modules')

type Json = Record<string, unknown>

class Guide {
  readonly #development: Development
  readonly #port: number
  #next = 0

  private constructor(development: Development, port: number) {
    this.#development = development
    this.#port = port
  }

  static async start(): Promise<Guide> {
    const [port = 0] = await freePorts(1)
    const guide = new Guide(await Development.start(), port)
    symlinkSync(MODULES, join(guide.#development.folder, 'node_modules'))
    await guide.#development.paste(CHECKOUT)
    return guide
  }

  /** The next block of the page, whose port 3000 is a free port of the test. */
  block(language: string): string {
    const found = BLOCKS[this.#next++]
    if (found?.language !== language) throw new Error(`block ${this.#next} is ${found?.language}, not ${language}`)
    return found.text.replaceAll(/(localhost:|listen\()3000/g, `$1${this.#port}`)
  }

  /** Pastes the next block of the page. */
  paste(): Promise<string> {
    return this.#development.paste(this.block('sh'))
  }

  async pasteJson(): Promise<Json[]> {
    return (await this.paste()).split('\n').map((line) => JSON.parse(line) as Json)
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.#development.folder, name), text)
  }

  run(command: string): Promise<string> {
    return this.#development.paste(command)
  }

  /** Resolves when the API of the page listens. */
  async listening(): Promise<void> {
    const isListening = () => fetch(`http://localhost:${this.#port}/`).then(Boolean, () => false)
    await expect.poll(isListening, { timeout: 20_000 }).toBe(true)
  }

  get blocksLeft(): number {
    return BLOCKS.length - this.#next
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

test('The blocks of the page for limits work when pasted: draw, repeat, used up, sign again, crash, give back, introspect', async ({
  guide,
}) => {
  await guide.paste()
  expect(await guide.paste()).toBe('')
  guide.write('api.mjs', guide.block('js'))
  await guide.paste()
  await guide.listening()

  const [helmet = {}] = await guide.pasteJson()
  expect(helmet).toEqual(JSON.parse(guide.block('json')))
  expect(await guide.pasteJson()).toEqual([helmet])

  const [sword, shield] = await guide.pasteJson()
  expect(sword).toEqual({ order: 'sword', cost: 4500, left: { uses: 1, amount: 2500 } })
  expect(shield).toEqual(JSON.parse(guide.block('json')))

  const [signedAgain] = await guide.pasteJson()
  expect(signedAgain).toEqual({ order: 'shield', cost: 4500, left: { uses: 2, amount: 7000 } })
  await guide.paste()
  await guide.listening()
  expect(await guide.pasteJson()).toEqual([signedAgain])

  const [drawn = {}] = await guide.pasteJson()
  const printed = JSON.parse(guide.block('json')) as Json
  expect(drawn).toEqual({ ...printed, until: expect.any(Number) })
  expect(await guide.pasteJson()).toEqual([{ draw: 2, returned: 3000 }])
  const limit: Limit = { uses: 3, per: 'day', unit: 'NESO', decimals: 2, amount: 12_000, each: 5000 }
  const left = { uses: 2, amount: 7500, until: drawn.until }
  expect(await guide.pasteJson()).toEqual([
    expect.objectContaining({ active: true, limit: { scope: 'enhance', ...limit }, left }),
  ])
  expect(TEXT).toContain(`\`${writeLimitSentence({ scope: 'enhance', limit })}\``)
  expect(guide.blocksLeft).toBe(0)
})

test('The page for limits has the line for a checkout', () => {
  expect(TEXT).toContain(`\`${CHECKOUT}\``)
})
