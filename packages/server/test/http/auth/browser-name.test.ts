/** The names of browsers and systems, from the headers that browsers sent in 2026. */
import { expect, test } from 'vitest'
import { browserNameOf } from '../../../src/http/auth/browser-name.ts'

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)'
const brands = (...names: string[]) => ['Not-A.Brand', ...names].map((name) => `"${name}";v="141"`).join(', ')

test.each<[string, string]>([
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0', 'Firefox/Windows'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0', 'Firefox/Linux'],
  ['Mozilla/5.0 (Android 15; Mobile; rv:144.0) Gecko/144.0 Firefox/144.0', 'Firefox/Android'],
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Chrome/141.0.0.0 Safari/537.36`, 'Chrome/macOS'],
  [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${WEBKIT} Chrome/141.0.0.0 Safari/537.36`, 'Chrome/ChromeOS'],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0`, 'Edge/Windows'],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/141.0.0.0 Safari/537.36 OPR/124.0.0.0`, 'Opera/Windows'],
  [
    `Mozilla/5.0 (Linux; Android 10; K) ${WEBKIT} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`,
    'Samsung Internet/Android',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1',
    'Safari/iPhone',
  ],
  [
    'Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/141.0 Mobile/15E148 Safari/604.1',
    'Chrome/iPad',
  ],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/26.0 Safari/605.1.15', 'Safari/macOS'],
  ['Mozilla/5.0 (Windows NT 10.0)', '/Windows'],
  ['curl/8.5.0', ''],
  ['', ''],
])('User-Agent %j names %j', (userAgent, name) => {
  expect(browserNameOf({ 'user-agent': userAgent })).toBe(name)
})

test('The brands and the platform of client hints count before User-Agent, and the own brand of a browser before those it derives from', () => {
  const userAgent = `Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} Chrome/141.0.0.0 Safari/537.36`
  const named = (sent: string, platform: string) =>
    browserNameOf({ 'user-agent': userAgent, 'sec-ch-ua': sent, 'sec-ch-ua-platform': platform })
  expect(named(brands('Chromium', 'Brave'), '"Windows"')).toBe('Brave/Windows')
  expect(named(brands('Chromium', 'Microsoft Edge'), '"Android"')).toBe('Edge/Android')
  expect(named(brands('Google Chrome', 'Chromium'), '"macOS"')).toBe('Chrome/macOS')
  expect(named(brands('Chromium'), '"Unknown"')).toBe('Chromium/Linux')
  expect(named('', '')).toBe('Chrome/Linux')
})

test('A request cannot choose the names, and only the beginning of a header is read', () => {
  for (const text of ['<b>This browser</b>', '/', 'This browser/here', 'x'.repeat(1_000_000)]) {
    expect(browserNameOf({ 'user-agent': text, 'sec-ch-ua': text, 'sec-ch-ua-platform': text })).toBe('')
  }
  expect(browserNameOf({ 'user-agent': `${'x'.repeat(512)} Firefox/144.0` })).toBe('')
})
