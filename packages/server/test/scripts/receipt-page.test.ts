import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { buildReceiptPage, receiptPage } from '../../../../scripts/build-receipt-page.ts'

const page = readFileSync(receiptPage, 'utf8')

test('The page docs/verify-receipt.html is up to date with its sources; otherwise run: node scripts/build-receipt-page.ts', async () => {
  expect(page === (await buildReceiptPage())).toBe(true)
})

test('The page docs/verify-receipt.html loads no other file, opens no connection and stores nothing', () => {
  const named = [...page.matchAll(/(?:src|href|action|srcset)\s*=\s*"([^"]*)"/gi)].map(([, address = '']) => address)
  expect(named.filter((address) => !address.startsWith('data:'))).toEqual([])
  expect(page).not.toMatch(/@import|url\(|\bimport\(|XMLHttpRequest|\bfetch\(|WebSocket|sendBeacon|localStorage|indexedDB/)
})

test('The page docs/verify-receipt.html contains the license of each library that is built into it', () => {
  for (const name of ['@noble/curves', '@noble/hashes']) expect(page).toMatch(new RegExp(`${name}\n\nThe MIT License`))
})

test('The content security policy of docs/verify-receipt.html allows only its own script and style, and neither loading nor sending', () => {
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
