/** The type of a setting, and the programs that read settings. */
import type { Parser } from './parsers.ts'

export type Program = 'start' | 'serve' | 'login-server' | 'migrate' | 'clients' | 'grants' | 'keys'

export type Setting = {
  /** after `GRANTOR_`, or the whole name if `isStandard` */
  name: string
  /** true if another specification defines the name, which then has no `GRANTOR_` in front */
  isStandard?: true
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
  /** the value without the parts that may be secret, if the whole value must not be shown */
  shown?: (text: string) => string
}

/** The name of the environment variable. */
export function nameOf({ name, isStandard }: Setting): string {
  return isStandard ? name : `GRANTOR_${name}`
}

/** The origin of a URL. Operators put keys into paths, queries and user names. */
export function originOf(text: string): string {
  const { origin, pathname, search } = new URL(text)
  return pathname === '/' && search === '' ? origin : `${origin}/…`
}

export const servers = ['start', 'serve', 'login-server'] as const
export const auth = ['start', 'serve'] as const
/** Settings on which the length of a text to sign depends: the commands for clients warn if they are set. */
export const textUsers = [...auth, 'clients'] as const
export const keyUsers = ['start', 'serve', 'keys'] as const
/** Lifetimes: they also bound those of a client, so the commands for clients warn. */
export const lifetimeUsers = ['start', 'serve', 'clients', 'keys'] as const
// `start` makes its own addresses, store and secrets, and ignores these settings.
export const apart = ['serve', 'login-server'] as const
export const storeUsers = ['serve', 'migrate', 'clients', 'grants', 'keys'] as const
