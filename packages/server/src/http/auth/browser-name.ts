/**
 * The browser and the system of a request, for the list of sessions of an account and for the page of a cross-device login. The names come from
 * these tables only, so a request cannot choose what a page shows. The headers are untrusted: the names help a user, and no access depends on
 * them.
 */
import type { FastifyRequest } from 'fastify'

type Marks = readonly (readonly [mark: string, name: string])[]

/** Brands of `Sec-CH-UA` (User-Agent Client Hints §3). A browser that is derived from Chromium sends both brands: its own one counts. */
const BRANDS: Marks = [
  ['"Brave"', 'Brave'],
  ['"Microsoft Edge"', 'Edge'],
  ['"Opera"', 'Opera'],
  ['"Opera GX"', 'Opera'],
  ['"Samsung Internet"', 'Samsung Internet'],
  ['"Vivaldi"', 'Vivaldi'],
  ['"YaBrowser"', 'Yandex Browser'],
  ['"Google Chrome"', 'Chrome'],
  ['"Chromium"', 'Chromium'],
]

/** Products of `User-Agent`. Most browsers also name other browsers, for compatibility, so the order of this table counts. */
const PRODUCTS: Marks = [
  ['MetaMaskMobile', 'MetaMask'],
  ['EdgA/', 'Edge'],
  ['EdgiOS/', 'Edge'],
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['OPT/', 'Opera'],
  ['SamsungBrowser/', 'Samsung Internet'],
  ['Vivaldi/', 'Vivaldi'],
  ['YaBrowser/', 'Yandex Browser'],
  ['DuckDuckGo/', 'DuckDuckGo'],
  ['Ddg/', 'DuckDuckGo'],
  ['FxiOS/', 'Firefox'],
  ['Firefox/', 'Firefox'],
  ['CriOS/', 'Chrome'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
]

/** Values of `Sec-CH-UA-Platform`. */
const PLATFORMS: Marks = [
  ['"Windows"', 'Windows'],
  ['"macOS"', 'macOS'],
  ['"Android"', 'Android'],
  ['"Chrome OS"', 'ChromeOS'],
  ['"Chromium OS"', 'ChromeOS'],
  ['"Linux"', 'Linux'],
]

/** Parts of `User-Agent`. */
const SYSTEMS: Marks = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['CrOS', 'ChromeOS'],
  ['Windows', 'Windows'],
  ['Macintosh', 'macOS'],
  ['Linux', 'Linux'],
]

/** Characters of a header that are read. The longest names that browsers send have about 300. */
const READ = 512

/** `Firefox/Windows`; one of the two parts, or both, are empty if the request does not name it. Empty if it names neither. */
export function browserNameOf(headers: FastifyRequest['headers']): string {
  const userAgent = partOf(headers['user-agent'])
  const browser = nameIn(BRANDS, partOf(headers['sec-ch-ua'])) || nameIn(PRODUCTS, userAgent)
  const system = nameIn(PLATFORMS, partOf(headers['sec-ch-ua-platform'])) || nameIn(SYSTEMS, userAgent)
  return browser === '' && system === '' ? '' : `${browser}/${system}`
}

function partOf(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header.slice(0, READ) : ''
}

function nameIn(marks: Marks, text: string): string {
  return marks.find(([mark]) => text.includes(mark))?.[1] ?? ''
}
