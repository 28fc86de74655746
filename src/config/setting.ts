/** What a setting is, and which programs there are to read it. */
import type { Parser } from './parsers.ts'

export type Program = 'start' | 'serve' | 'login-server' | 'migrate' | 'clients' | 'grants' | 'keys'

export type Setting = {
  /** after `GRANTOR_` */
  name: string
  words: string
  /** who reads it; every other program accepts it and leaves it alone */
  usedBy: readonly Program[]
  parse: Parser<unknown>
  /** read by `parse` where nothing is set */
  preset?: string
  /** tells a default that depends on something else */
  otherwise?: string
  /** never shown, and may come from the file that NAME_FILE names */
  secret?: true
}

export const servers = ['start', 'serve', 'login-server'] as const
export const auth = ['start', 'serve'] as const
export const keyUsers = ['start', 'serve', 'keys'] as const
// `start` makes its own addresses, store and secrets, and leaves these alone.
export const apart = ['serve', 'login-server'] as const
export const storeUsers = ['serve', 'migrate', 'clients', 'grants', 'keys'] as const
