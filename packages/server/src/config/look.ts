/** The settings for the look of the pages, and the file of the logo. */
import { readFileSync, statSync } from 'node:fs'
import { findUnreadable, NEEDED_CONTRAST } from './look/accent.ts'
import { type Logo, PLATFORM_LOGO, readLogo } from './look/logo.ts'
import { platformNameFault } from './look/platform-name.ts'
import { file, type Parser } from './parsers.ts'
import { type Setting, servers } from './setting.ts'

const platformName: Parser<string> = (text) => {
  const fault = platformNameFault(text)
  return fault === null ? { value: text } : { fault }
}

const accentColor: Parser<string> = (text) => {
  if (!/^#[0-9a-f]{6}$/i.test(text)) return { fault: 'must be a colour of six hexadecimal digits, as in #0b2a6f' }
  const color = text.toLowerCase()
  const unreadable = findUnreadable(color)
  if (unreadable === null) return { value: color }
  // Rounded down, so that 4.497 is not shown as 4.50.
  const measured = (Math.floor(unreadable.contrast * 100) / 100).toFixed(2)
  return {
    fault: `is too pale to be read: ${color} has a contrast of ${measured}:1 to the background ${unreadable.background}, and ${NEEDED_CONTRAST}:1 is needed (WCAG 2.2, 1.4.3); the nearest readable shade is ${unreadable.nearest}`,
  }
}

const LENGTH_AT_MOST = 500

const httpsUrl: Parser<string> = (text) => {
  const url = text.length <= LENGTH_AT_MOST && URL.canParse(text) ? new URL(text) : null
  if (url?.protocol === 'https:' && url.username + url.password === '') return { value: url.href }
  return { fault: `must be an https URL without user, of at most ${LENGTH_AT_MOST} characters, as in https://example.com/help` }
}

export const look = {
  platformName: {
    name: 'PLATFORM_NAME',
    words: 'The name of the platform on every page that users see. At most 40 characters. docs/operating/branding.md.',
    usedBy: servers,
    parse: platformName,
    otherwise: 'Grantor',
  },
  logoFile: {
    name: 'LOGO_FILE',
    words:
      'A PNG beside that name: at most 65,536 bytes, each side 16 to 1,024 pixels. The servers read the file when they start, and serve the picture themselves.',
    usedBy: servers,
    parse: file,
    otherwise: 'none: the first letter of GRANTOR_PLATFORM_NAME, or the logo of Grantor',
  },
  accentColor: {
    name: 'ACCENT_COLOR',
    words:
      'The colour of links, buttons and marks on the pages that users see, `#rrggbb`. A colour with a contrast of less than 4.5:1 to the light backgrounds is refused. The dark scheme uses a lighter shade, which is computed.',
    usedBy: servers,
    parse: accentColor,
    otherwise: 'the green of Grantor',
  },
  helpUrl: {
    name: 'HELP_URL',
    words: 'The https address of the help of the platform: a link at the foot of every page.',
    usedBy: servers,
    parse: httpsUrl,
    otherwise: 'none: no link',
  },
  privacyUrl: {
    name: 'PRIVACY_URL',
    words: 'The https address of the privacy notice of the platform: a link at the foot of every page.',
    usedBy: servers,
    parse: httpsUrl,
    otherwise: 'none: no link',
  },
} satisfies Record<string, Setting>

export type LogoReading = { logo: Logo } | { fault: string }

/** `fault` is a sentence. The size is checked before the file is read: the name may be that of an endless device. */
export function readLogoFile(path: string): LogoReading {
  try {
    const about = statSync(path)
    if (!about.isFile()) return { fault: 'GRANTOR_LOGO_FILE names something that is not a file' }
    if (about.size > PLATFORM_LOGO.bytes)
      return { fault: `GRANTOR_LOGO_FILE names a file of ${about.size} bytes; a logo has at most ${PLATFORM_LOGO.bytes}` }
    const read = readLogo(readFileSync(path), PLATFORM_LOGO)
    return 'fault' in read ? { fault: `GRANTOR_LOGO_FILE names a file that ${read.fault}` } : read
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    return { fault: `GRANTOR_LOGO_FILE names a file that cannot be read (${code})` }
  }
}
