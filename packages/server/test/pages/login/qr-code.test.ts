import { inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { decodeQR } from 'qr/decode.js'
import { expect, test } from 'vitest'
import { qrCode } from '../../../src/pages/login/qr-code.ts'
import { walletLinks } from '../../../src/pages/login/wallet-links.ts'
import { runs } from '../../support/runs.ts'

/** Decodes the PNG, draws it with four pixels per module, and reads the code. */
function read(markup: string): string {
  const png = Buffer.from(/src="data:image\/png;base64,([^"]+)"/.exec(markup)?.[1] ?? '', 'base64')
  const size = png.readUInt32BE(16)
  const data = png.indexOf('IDAT') + 4
  const lines = inflateSync(png.subarray(data, data + png.readUInt32BE(data - 8)))
  const bytesOfLine = 1 + Math.ceil(size / 8)
  const scale = 4
  const width = size * scale
  const pixels = new Uint8Array(width * width * 4).fill(255)
  for (let y = 0; y < width; y++)
    for (let x = 0; x < width; x++) {
      const module = Math.floor(x / scale)
      const isLight = ((lines[Math.floor(y / scale) * bytesOfLine + 1 + (module >> 3)] ?? 0) >> (7 - (module & 7))) & 1
      if (!isLight) pixels.fill(0, (y * width + x) * 4, (y * width + x) * 4 + 3)
    }
  return decodeQR({ width, height: width, data: pixels })
}

test('A QR code contains exactly its link, for challenges of 1 to 1200 characters', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9._-]{1,1200}$/), (challenge) => {
      const link = `https://auth.example.com/login/resume?login_challenge=${challenge}`
      expect(read(String(qrCode(link, 'a code')))).toBe(link)
    }),
    { numRuns: Math.ceil(runs / 15) },
  )
})

test('A link of more than 1270 characters gets no QR code', () => {
  expect(qrCode('x'.repeat(1_270), 'a code')).not.toBeNull()
  expect(qrCode('x'.repeat(1_271), 'a code')).toBeNull()
})

test('Each of the five wallet links uses https and contains the whole URL of the sign-in', () => {
  const url = 'https://auth.example.com:8443/login/resume?login_challenge=grl.a_b-c&x=%20'
  const links = walletLinks(url)
  expect(links).toHaveLength(5)
  for (const { href } of links) {
    expect(new URL(href).protocol).toBe('https:')
    const parts = [href, decodeURIComponent(href), decodeURIComponent(decodeURIComponent(href))]
    expect(parts.some((part) => part.includes(url.slice('https://'.length)))).toBe(true)
  }
})

test('A URL over plain http, as in development, has the links except that of MetaMask, which always leads to https', () => {
  expect(walletLinks('http://localhost:4000/login/resume').map(({ name }) => name)).toEqual(
    walletLinks('https://auth.example.com/login/resume').flatMap(({ name }) => (name === 'MetaMask' ? [] : name)),
  )
})

test('A URL that runs as script or is empty gets no wallet links', () => {
  for (const url of ['javascript:alert(1)', '']) expect(walletLinks(url)).toEqual([])
})
