/** A picture in a file, as the data URI that operations take. The fault completes the sentence "The option …". */
import { readFileSync, statSync } from 'node:fs'
import { CLIENT_LOGO, logoUri, readLogo } from '../../config/look/logo.ts'

export function readPictureFile(file: string): { uri: string } | { fault: string } {
  const named = JSON.stringify(file)
  try {
    const about = statSync(file)
    if (!about.isFile()) return { fault: `must be a file: ${named}` }
    if (about.size > CLIENT_LOGO.bytes)
      return { fault: `${named} has ${about.size} bytes; a logo has at most ${CLIENT_LOGO.bytes}` }
    const read = readLogo(readFileSync(file), CLIENT_LOGO)
    return 'fault' in read ? { fault: `${named} ${read.fault}` } : { uri: logoUri(read.logo.bytes) }
  } catch (error) {
    return { fault: `cannot be read: ${named} (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})` }
  }
}
