import fc from 'fast-check'
import { decodeQR } from 'qr/decode.js'
import { expect, test } from 'vitest'
import { qrCode } from '../../src/pages/qr-code.ts'
import { walletLinks } from '../../src/pages/wallet-links.ts'
import { runs } from '../support/runs.ts'

/** Draws the path of the code with four pixels per module, and decodes the picture. */
function read(markup: string): string {
  const size = Number(/viewBox="0 0 (\d+)/.exec(markup)?.[1])
  const scale = 4
  const width = size * scale
  const pixels = new Uint8Array(width * width * 4).fill(255)
  for (const [, x = '', y = '', row = ''] of markup.matchAll(/M(\d+) (\d+)\.5(h\d+(?:m\d+ 0h\d+)*)/g)) {
    let pen = Number(x)
    for (const [, move, distance = ''] of row.matchAll(/([hm])(\d+)/g)) {
      if (move === 'h') paint(pen, Number(y), Number(distance))
      pen += Number(distance)
    }
  }
  return decodeQR({ width, height: width, data: pixels })

  function paint(x: number, y: number, length: number): void {
    for (let line = 0; line < scale; line++) {
      const start = ((y * scale + line) * width + x * scale) * 4
      for (let i = 0; i < length * scale * 4; i++) if (i % 4 !== 3) pixels[start + i] = 0
    }
  }
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

test('A URL that is on localhost, runs as script or is empty gets no wallet links', () => {
  for (const url of ['http://localhost:4000/login/resume', 'javascript:alert(1)', '']) expect(walletLinks(url)).toEqual([])
})
