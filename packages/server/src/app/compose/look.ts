/** The look of the pages, from the settings. The file of the logo is read again: reading the settings only checks the file. */
import { readLogoFile } from '../../config/look.ts'
import type { Settings } from '../../config/settings.ts'
import { CommandError } from '../../operators/terminal/command.ts'
import { defineLook, type Look } from '../../pages/look.ts'

export function lookOf(settings: Settings<'start' | 'serve' | 'login-server'>): Look {
  const { platformName: name, logoFile, accentColor, helpUrl, privacyUrl } = settings
  const reading = logoFile === undefined ? { logo: undefined } : readLogoFile(logoFile)
  if ('fault' in reading) throw new CommandError(reading.fault)
  return defineLook({ name, accentColor, logo: reading.logo, helpUrl, privacyUrl })
}
