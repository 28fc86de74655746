import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { buildReceiptPage, receiptPage } from '../../scripts/build-receipt-page.ts'

const page = readFileSync(receiptPage, 'utf8')

test('docs/verify-receipt.html is what its sources make; otherwise run: node scripts/build-receipt-page.ts', async () => {
  expect(page === (await buildReceiptPage())).toBe(true)
})

test('the page that checks receipts is one file and names no other', () => {
  const named = [...page.matchAll(/(?:src|href|action|srcset)\s*=\s*"([^"]*)"/gi)].map(([, address = '']) => address)
  expect(named.filter((address) => !address.startsWith('data:'))).toEqual([])
  expect(page).not.toMatch(/@import|url\(|\bimport\(|XMLHttpRequest|\bfetch\(|WebSocket|sendBeacon|localStorage|indexedDB/)
})

test('whose work is in it is named in it, with the terms they ask to be there', () => {
  for (const name of ['@noble/curves', '@noble/hashes']) expect(page).toMatch(new RegExp(`${name}\n\nThe MIT License`))
})

test('its policy lets it run what it was built with, load nothing and send nothing', () => {
  const [, policy = ''] = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(page) ?? []
  const hashOf = (element: string) => {
    const [, text = ''] = new RegExp(`<${element}>([^]*?)</${element}>`).exec(page) ?? []
    return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  }
  expect(policy.split('; ')).toEqual([
    `default-src 'none'`,
    `script-src ${hashOf('script')}`,
    `style-src ${hashOf('style')}`,
    'img-src data:',
    `base-uri 'none'`,
    `form-action 'none'`,
  ])
})
