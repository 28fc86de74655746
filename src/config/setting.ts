/** The type of a setting, and the programs that read settings. */
import type { Parser } from './parsers.ts'

export type Program = 'start' | 'serve' | 'login-server' | 'migrate' | 'clients' | 'grants' | 'keys'

export type Setting = {
  /** after `GRANTOR_` */
  name: string
  words: string
  /** the programs that read the setting; the others accept and ignore it */
  usedBy: readonly Program[]
  parse: Parser<unknown>
  /** parsed if the setting is not set */
  preset?: string
  /** describes a default that depends on something else */
  otherwise?: string
  /** never shown; may come from the file that NAME_FILE names */
  secret?: true
}

export const servers = ['start', 'serve', 'login-server'] as const
export const auth = ['start', 'serve'] as const
export const keyUsers = ['start', 'serve', 'keys'] as const
// `start` makes its own addresses, store and secrets, and ignores these settings.
export const apart = ['serve', 'login-server'] as const
export const storeUsers = ['serve', 'migrate', 'clients', 'grants', 'keys'] as const
