import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { receiptPage } from '../../../../scripts/build-receipt-page.ts'
import { encodeRecap } from '../../src/protocol/wallet/recap.ts'
import type { SignedReceipt } from '../../src/protocol/wallet/receipt.ts'
import { approvalFields, composeAction } from '../protocol/wallet/approval-example.ts'
import { composeShort, shortFields, thumbprint, userCode } from '../protocol/wallet/consent-example.ts'
import { launchBrowser, newPage, screenshot, seriousAxeViolations } from '../support/browser.ts'
import { testWallet } from '../support/wallet.ts'

const folder = mkdtempSync(join(tmpdir(), 'grantor-receipt-page-'))
const address = pathToFileURL(receiptPage).href
const owner = testWallet(0)
const now = shortFields.issuedAt + 3600

let browser: Browser
let page: Page
let requested: string[]
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser.close())
beforeEach(async () => {
  page = await newPage(browser)
  requested = []
  page.on('request', (request) => requested.push(request.url()))
  await page.context().setOffline(true)
  await page.clock.setFixedTime(now * 1000)
  await page.goto(address)
})
afterEach(async () => {
  // In every test, the only request is the one for the page itself.
  expect(requested.filter((url) => !url.startsWith('data:'))).toEqual([address])
  await page.context().close()
})

function receiptOf(message: string = composeShort()): SignedReceipt {
  return { message, signature: owner.sign(message), address: owner.address, chain_id: 1 }
}

async function choose(receipt: unknown, name = 'receipt.json'): Promise<void> {
  const path = join(folder, name)
  writeFileSync(path, typeof receipt === 'string' ? receipt : JSON.stringify(receipt))
  await page.locator('#file').setInputFiles(path)
}

/** Waits for the verdict: reading a file takes its time. */
const expectTitle = (words: string) => page.locator('#verdict .title').getByText(words, { exact: true }).waitFor()
const facts = async () => {
  const cells = await page.locator('#verdict .facts').locator('dt, dd').allInnerTexts()
  return Object.fromEntries(cells.flatMap((cell, i) => (i % 2 === 0 ? [[cell, cells[i + 1]]] : [])))
}

describe('The page for receipts, opened from disk without a network', () => {
  test('The page shows who allowed what to which app until when, for a receipt that is chosen as a file', async () => {
    await choose(receiptOf())
    await expectTitle('This receipt holds.')
    expect(await facts()).toEqual({
      Who: `${owner.address} (chain 1)`,
      Allowed: "'MyApp' at app.example.net",
      'To use': 'enhancement at https://api.example.com/',
      From: '2026-11-20 12:00:00 UTC',
      Until: '2026-12-20 12:00:00 UTC',
      'Answers go to': 'https://app.example.net/callback',
      'Client id': shortFields.clientId,
      'Asked by': 'login.example.com',
    })
    expect(await page.locator('#said').textContent()).toContain('This receipt holds.')
  })

  test.each([
    [10, {}, { 'Answers go to': 'https://app.example.net/callback' }],
    [11, { redirectUri: undefined, userCode }, { 'Access goes to': `the device that showed the code ${userCode}` }],
    [12, { userCode }, { 'Access goes to': `the browser that showed the code ${userCode}` }],
  ])('The page reads a short text, with its bound key: template %i', async (template, parties, more) => {
    await choose(receiptOf(composeShort({ template, ...parties, scopes: ['read', 'write'], keyThumbprint: thumbprint })))
    await expectTitle('This receipt holds.')
    expect(await facts()).toMatchObject({
      'To use': 'read, write at https://api.example.com/',
      'Client id': shortFields.clientId,
      'Bound to key': thumbprint,
      ...more,
    })
  })

  test('The page shows which action was approved, in whose words, and that the receipt does not prove that it was carried out', async () => {
    await choose(receiptOf(composeAction({ until: now + 60 })))
    await expectTitle('This receipt holds.')
    expect(await facts()).toMatchObject({
      Once: `'${approvalFields.summary}'`,
      'Words of': 'bank.example',
      'For the app': "'MyApp'",
      'Digest of the action': approvalFields.digest,
    })
    expect(await page.locator('#verdict .remarks').innerText()).toContain('not that the API carried it out')
  })

  test('The page shows the signed text, byte for byte', async () => {
    await choose(receiptOf())
    await page.locator('#verdict summary').click()
    expect(await page.locator('#verdict .paper').innerText()).toBe(composeShort())
  })

  test('The page accepts a receipt that is typed or pasted', async () => {
    await page.locator('#pasted').fill(JSON.stringify(receiptOf(), null, 2))
    await page.locator('button[type=submit]').click()
    await expectTitle('This receipt holds.')
    expect(await page.locator('#verdict .source').innerText()).toBe('What you pasted')
  })

  test('A pasted receipt is checked at once', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.evaluate((text) => navigator.clipboard.writeText(text), JSON.stringify(receiptOf()))
    await page.locator('#pasted').focus()
    await page.keyboard.press('Control+V')
    await expectTitle('This receipt holds.')
  })

  test('The page accepts a receipt that is dropped anywhere on it, and stays open', async () => {
    const dropped = await page.evaluateHandle((text) => {
      const transfer = new DataTransfer()
      transfer.items.add(new File([text], 'dropped.json', { type: 'application/json' }))
      return transfer
    }, JSON.stringify(receiptOf()))
    await page.dispatchEvent('h1', 'dragover', { dataTransfer: dropped })
    await page.dispatchEvent('h1', 'drop', { dataTransfer: dropped })
    await expectTitle('This receipt holds.')
    expect(page.url()).toBe(address)
  })

  test('The page says that a consent has expired', async () => {
    await page.clock.setFixedTime(shortFields.until * 1000)
    await choose(receiptOf())
    await expectTitle('This receipt holds, and what it allowed is over.')
  })

  test('The page can be used with the keyboard alone', async () => {
    await page.locator('#pasted').focus()
    await page.keyboard.insertText(JSON.stringify(receiptOf()))
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expectTitle('This receipt holds.')
  })
})

describe('What the page refuses', () => {
  const { message, signature } = receiptOf()
  const narrow = { ...shortFields, abilities: 'joined' } as const
  const wide = message.replace(encodeRecap(narrow), encodeRecap({ ...narrow, scopes: ['enhancement', 'payments'] }))

  test.each<[string, unknown]>([
    ['another app', { ...receiptOf(), message: composeShort({ clientName: 'Bank' }) }],
    [
      'a letter of another script that looks the same',
      { ...receiptOf(), message: message.replace("'MyApp' at app", "'MyApp' at аpp") },
    ],
    ['an added space', { ...receiptOf(), message: `${message} ` }],
    [
      'a changed digit of the signature',
      { ...receiptOf(), signature: signature.replace(/.(?=.{40}$)/, (digit) => (digit === '0' ? '1' : '0')) },
    ],
    ["another wallet's signature", { ...receiptOf(), signature: testWallet(1).sign(message) }],
    ['another wallet', { ...receiptOf(), address: testWallet(1).address, signature: testWallet(1).sign(message) }],
    ['another chain', { ...receiptOf(), chain_id: 10 }],
    ['a ReCap that says more than its text, signed by the owner', receiptOf(wide)],
  ])('The page refuses %s, and shows nothing of it', async (_, receipt) => {
    await choose(receipt)
    await expectTitle('This receipt does not hold.')
    await expectNothingShown()
  })

  test.each<[string, unknown]>([
    ['a receipt with an additional member', { ...receiptOf(), client_name: 'Bank' }],
    ['a receipt with a wrong checksum in its address', { ...receiptOf(), address: owner.address.replace('f39F', 'F39f') }],
    ['another JSON object', { hello: '<img src=x onerror=alert(1)>' }],
    ['a text that is not JSON', '<script>alert(1)</script>'],
    ['an empty file', ''],
    ['a file of more than two megabytes', JSON.stringify({ ...receiptOf(), message: 'x'.repeat(2_000_001) })],
  ])('The page does not recognise %s as a receipt', async (_, receipt) => {
    await choose(receipt)
    await expectTitle('This is not a receipt.')
    await expectNothingShown()
  })

  test('The page gives no verdict that only a chain can give, and says how to call one', async () => {
    await choose({ ...receiptOf(), signature: `0x${'12'.repeat(130)}` })
    await expectTitle('This receipt could not be checked.')
    expect(await page.locator('#verdict .remarks').innerText()).toContain('--rpc')
    await expectNothingShown()
  })

  test('A bad receipt after a good one removes everything of the good one', async () => {
    await choose(receiptOf())
    await expectTitle('This receipt holds.')
    await choose({ ...receiptOf(), chain_id: 10 })
    await expectTitle('This receipt does not hold.')
    await expectNothingShown()
  })

  test('The name of a file cannot lead the page elsewhere', async () => {
    await choose(receiptOf(), '<img src=x onerror=alert(1)>\u202egnp.json')
    expect(await page.locator('#verdict .source').innerText()).toBe('The file <img src=x onerror=alert(1)>gnp.json')
    expect(await page.locator('#verdict img').count()).toBe(0)
  })

  test('The page runs no script but its own', async () => {
    const ran = await page.evaluate(() => {
      const script = document.createElement('script')
      script.textContent = 'document.title = "taken over"'
      document.body.append(script)
      return document.title
    })
    expect(ran).toBe('Check a receipt · Grantor')
  })

  async function expectNothingShown(): Promise<void> {
    expect(await page.locator('#verdict .slip-body').isVisible()).toBe(false)
    expect(await page.locator('#verdict .facts > *').count()).toBe(0)
    expect(await page.locator('#verdict .paper').textContent()).toBe('')
  }
})

test('The page is accessible at 320 px and on a desktop, light and dark, for every verdict (WCAG 2.2 AA)', async () => {
  const verdicts: Record<string, unknown> = {
    holds: receiptOf(),
    refused: { ...receiptOf(), chain_id: 10 },
    unknown: { ...receiptOf(), signature: `0x${'12'.repeat(130)}` },
  }
  for (const [name, receipt] of Object.entries(verdicts)) {
    await choose(receipt)
    await page.locator(`#verdict .${name}`).waitFor()
    const details = page.locator('#verdict summary')
    if (await details.isVisible()) await details.click()
    for (const width of [1280, 320]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height: 800 })
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        expect({ name, width, colorScheme, violations: await seriousAxeViolations(page) }).toEqual({
          name,
          width,
          colorScheme,
          violations: [],
        })
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
        if (name !== 'unknown') await screenshot(page, `receipt-page-${name}-${width}-${colorScheme}`)
      }
    }
  }
})

test('Without script the page says what to do instead', async () => {
  const plain = await newPage(browser, { javaScriptEnabled: false })
  await plain.goto(address)
  expect(await plain.locator('noscript').innerText()).toContain('grantor verify-receipt')
  await plain.context().close()
})
