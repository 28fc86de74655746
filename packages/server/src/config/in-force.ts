/** The value of each setting that a program reads, and the source of the value. A secret is only shown as set or not set. */
import { nameOf } from './setting.ts'
import { type Program, type Setting, type SettingKey, sections } from './table.ts'

export type SettingSource = 'environment' | 'file' | 'default'

export type SettingInForce = {
  name: string
  /** the heading of the setting in docs/reference/settings.md */
  section: string
  words: string
  /** null for a secret, and for a setting without a value */
  value: string | null
  /** of a number, such as `seconds`; null for other values */
  unit: string | null
  source: SettingSource
  isSet: boolean
  isSecret: boolean
  /** the default in words; null if the setting has no default */
  usual: string | null
}

type Environment = Readonly<Record<string, string | undefined>>

/** `read` has the parsed values with the defaults that depend on other settings. */
export function settingsInForce(program: Program, env: Environment, read: Readonly<Record<string, unknown>>): SettingInForce[] {
  return Object.entries(sections).flatMap(([section, settings]) =>
    (Object.entries(settings) as [SettingKey, Setting][])
      .filter(([, { usedBy }]) => usedBy.includes(program))
      .map(([key, setting]) => inForce(section, setting, env, read[key])),
  )
}

function inForce(section: string, setting: Setting, env: Environment, value: unknown): SettingInForce {
  const name = nameOf(setting)
  const given = env[name] || undefined
  const isSecret = setting.secret === true
  const hasFile = isSecret && Boolean(env[`${name}_FILE`])
  const source = hasFile ? 'file' : given === undefined ? 'default' : 'environment'
  const text = given === undefined ? usualText(setting, value) : (setting.shown?.(given) ?? given)
  return {
    name,
    section,
    words: setting.words,
    value: isSecret ? null : text || null,
    unit: (text && setting.parse.unit) || null,
    source,
    isSet: source !== 'default',
    isSecret,
    usual: setting.otherwise ?? setting.preset ?? null,
  }
}

/** The value of a default: a text, a number, on or off, or an address to listen on. A default with both a value and words has the words only. */
function usualText({ preset, otherwise }: Setting, value: unknown): string | null {
  if (preset !== undefined) return otherwise === undefined ? preset : null
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  const { host, port } = (value ?? {}) as { host?: unknown; port?: unknown }
  return typeof host === 'string' && typeof port === 'number' ? `${host}:${port}` : null
}
