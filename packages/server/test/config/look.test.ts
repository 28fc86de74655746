/** The settings for the look of the pages. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readLogoFile } from '../../src/config/look.ts'
import { type Program, readSettings } from '../../src/config/settings.ts'
import { pngLogo } from '../support/pictures.ts'

const complete = {
  GRANTOR_AUTH_URL: 'https://auth.example.com',
  GRANTOR_LOGIN_URL: 'https://login.example.com',
  GRANTOR_DATABASE_URL: 'sqlite:/var/lib/grantor/grantor.sqlite',
  GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
  GRANTOR_LOGIN_SECRET: 'correct-horse-battery-staple-4711-login',
}

function faultsOf(more: Record<string, string>, program: Program = 'serve'): string[] {
  const reading = readSettings(program, { ...complete, ...more })
  return reading.kind === 'faults' ? reading.faults : []
}

const folder = mkdtempSync(join(tmpdir(), 'grantor-look-'))
function file(name: string, bytes: Buffer): string {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return path
}

test('The name, the logo, the colour and the links of a platform are read by both servers', () => {
  const look = {
    GRANTOR_PLATFORM_NAME: 'Aurora Pay',
    GRANTOR_LOGO_FILE: file('logo.png', pngLogo()),
    GRANTOR_ACCENT_COLOR: '#0B2A6F',
    GRANTOR_HELP_URL: 'https://aurora.example/help?topic=sign-in',
    GRANTOR_PRIVACY_URL: 'https://aurora.example/privacy',
  }
  for (const program of ['serve', 'login-server'] as const)
    expect(readSettings(program, { ...complete, ...look })).toMatchObject({
      kind: 'settings',
      settings: { platformName: 'Aurora Pay', accentColor: '#0b2a6f', helpUrl: 'https://aurora.example/help?topic=sign-in' },
    })
})

test('A colour that cannot be read stops the start, with its contrast, the needed contrast, and the nearest readable shade', () => {
  expect(faultsOf({ GRANTOR_ACCENT_COLOR: '#ffd400' })).toEqual([
    expect.stringMatching(
      /^GRANTOR_ACCENT_COLOR is too pale to be read: #ffd400 has a contrast of 1\.2\d:1 to the background #e9eee9, and 4\.5:1 is needed \(WCAG 2\.2, 1\.4\.3\); the nearest readable shade is #[0-9a-f]{6}$/,
    ),
  ])
})

test.each(['yellow', '#fff', '0b2a6f', '#0b2a6', '#0b2a6f;}body{display:none'])(
  'A colour is six hexadecimal digits and nothing else: %s',
  (color) => {
    expect(faultsOf({ GRANTOR_ACCENT_COLOR: color })).toEqual([
      expect.stringContaining('must be a colour of six hexadecimal digits'),
    ])
  },
)

test.each([
  'http://aurora.example/help',
  'javascript:alert(1)',
  'https://user:secret@aurora.example/',
  'help',
  `https://a.example/${'a'.repeat(500)}`,
])('A link leads to an https address without a user: %s', (url) => {
  expect(faultsOf({ GRANTOR_HELP_URL: url, GRANTOR_PRIVACY_URL: url })).toEqual([
    expect.stringContaining('GRANTOR_HELP_URL must be an https URL'),
    expect.stringContaining('GRANTOR_PRIVACY_URL must be an https URL'),
  ])
})

test('A name that could deceive stops the start', () => {
  expect(faultsOf({ GRANTOR_PLATFORM_NAME: 'Auro\u200bra' })).toEqual([
    expect.stringMatching(/^GRANTOR_PLATFORM_NAME must not have invisible/),
  ])
})

test.each([
  ['a file that is away', join(folder, 'away.png'), 'names a file that cannot be read (ENOENT)'],
  ['a folder', folder, 'names something that is not a file'],
  ['a device without an end', '/dev/zero', 'names something that is not a file'],
  ['a text', file('text.png', Buffer.from('not a picture')), 'names a file that is not a PNG'],
  ['a file of 65,537 bytes', file('large.png', Buffer.alloc(65_537)), 'names a file of 65537 bytes; a logo has at most 65536'],
  ['a damaged picture', file('cut.png', pngLogo().subarray(0, 100)), 'names a file that is damaged'],
])('A logo that is no picture stops the start with a clear answer: %s', (_, path, fault) => {
  expect(faultsOf({ GRANTOR_LOGO_FILE: path })).toEqual([expect.stringContaining(`GRANTOR_LOGO_FILE ${fault}`)])
})

test('A program that shows no page does not read the logo', () => {
  expect(faultsOf({ GRANTOR_LOGO_FILE: join(folder, 'away.png') }, 'migrate')).toEqual([])
})

test('The file of a logo is read with its type and size', () => {
  expect(readLogoFile(file('wide.png', pngLogo({ width: 300, height: 40 })))).toMatchObject({
    logo: { width: 300, height: 40 },
  })
})
