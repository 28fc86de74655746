/** What users see of the platform. The settings themselves are checked with all others. */

import { accentColors, contrastOf, SURFACES } from '../../config/look/accent.ts'
import { readLogoFile } from '../../config/look.ts'
import { call, printable, reasonOf } from './call.ts'
import { type CheckResult, ok, type Site, unchecked, wrong } from './check.ts'

export async function checkLook({ settings }: Site): Promise<CheckResult[]> {
  const { platformName, accentColor, logoFile, helpUrl, privacyUrl } = settings
  const found = [
    ok(
      platformName === undefined
        ? 'the pages have the name Grantor: GRANTOR_PLATFORM_NAME is not set'
        : `the pages have the name ${platformName}`,
    ),
  ]
  if (accentColor !== undefined) found.push(judgeAccent(accentColor))
  if (logoFile !== undefined) found.push(...(await checkLogo(logoFile, settings)))
  for (const [of, url] of Object.entries({ help: helpUrl, privacy: privacyUrl }))
    if (url !== undefined) found.push(ok(`the link to ${of} leads to ${printable(url)}`))
  return found
}

function judgeAccent(color: string): CheckResult {
  const { dark } = accentColors(color)
  const onLight = contrastOf(color, SURFACES.light.ground)
  const onDark = contrastOf(dark.accent, SURFACES.dark.paperHead)
  return ok(
    `${color} has a contrast of ${onLight.toFixed(1)}:1; the dark scheme uses ${dark.accent}, with ${onDark.toFixed(1)}:1`,
  )
}

async function checkLogo(file: string, { authUrl, loginUrl }: Site['settings']): Promise<CheckResult[]> {
  const reading = readLogoFile(file)
  if ('fault' in reading) return [wrong(reading.fault, 'Let the servers read a PNG: docs/operating/branding.md.')]
  const { width, height, bytes, hash } = reading.logo
  const facts = ok(`the logo has ${width} × ${height} pixels and ${bytes.length} bytes`)
  const served = await Promise.all([authUrl, loginUrl].map((origin) => checkServed(`${origin}/logos/${hash}`, origin)))
  return [facts, ...served.filter((each) => each !== null)]
}

/** Both servers read the file at their start. */
async function checkServed(url: string, origin: string): Promise<CheckResult | null> {
  try {
    const { status } = await call(url)
    if (status === 200) return null
    return wrong(
      `${origin} does not serve this logo (${status})`,
      'Set GRANTOR_LOGO_FILE for both servers, and restart both after a change.',
    )
  } catch (error) {
    return unchecked(`${origin} does not answer (${printable(reasonOf(error))})`, 'See the checks of the URLs.')
  }
}
