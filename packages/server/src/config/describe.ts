/** Describes the settings for `--help` and for docs/reference/settings.md, from the same table that parses them. */
import { nameOf } from './setting.ts'
import { isNeeded } from './settings.ts'
import { type Program, type Setting, type SettingKey, sections, table } from './table.ts'

const PROGRAMS: readonly Program[] = ['start', 'serve', 'login-server', 'migrate', 'clients', 'grants', 'keys']

/** One entry per setting that a program reads: its name, its description, and whether it is required or its default. */
export function describeSettings(program: Program): { name: string; words: string }[] {
  return (Object.entries(table) as [SettingKey, Setting][])
    .filter(([, { usedBy }]) => usedBy.includes(program))
    .map(([key, setting]) => ({
      name: nameOf(setting),
      words: `${setting.words} ${isNeeded(key, program) ? 'Must be set.' : `Default: ${defaultOf(setting)}.`}`,
    }))
}

/** The page of settings, for docs/reference/settings.md. */
export function settingsPageText(): string {
  return [INTRODUCTION, ...Object.entries(sections).map(([title, settings]) => section(title, settings))]
    .join('\n\n')
    .concat('\n')
}

const INTRODUCTION = `# Settings

Every program reads its settings from the environment, under names that begin with \`GRANTOR_\`. A program reports all
faults at once and starts only if there are none:

- Every program accepts every name below, so one environment file can serve them all. Any other name is a fault,
  because it is usually a typing mistake.
- The settings of traces have the names that OpenTelemetry defines. Other names that begin with \`OTEL_\` are ignored.
- An empty value counts as not set.
- A secret may come from a file: \`GRANTOR_SECRET_FILE\` names the file for \`GRANTOR_SECRET\`. A newline at the end of the file is
  not part of the secret. Setting both the secret and its file is a fault. Only programs that use a secret read its file.
- Plain \`http\` URLs are accepted on loopback only (\`localhost\`, \`*.localhost\`, \`127.0.0.0/8\`, \`[::1]\`).
- \`grantor start\` makes its own addresses, store and secrets; it accepts the other settings. \`serve\` and \`login-server\`
  have no defaults for addresses and secrets.
- \`grantor settings\` prints the value of each setting of an environment, and the source of the value. The page Settings of the
  console and \`GET /v1/settings\` list those of a running process.
- With \`--data DIR\` the operator's commands (\`clients\`, \`grants\`, \`keys\`, \`migrate\`) use the store and the secrets of
  \`grantor start --data DIR\` instead of those below.`

function section(title: string, settings: Readonly<Record<string, Setting>>): string {
  return `## ${title}\n\n${Object.entries(settings)
    .map(([key, setting]) => entry(key as SettingKey, setting))
    .join('\n\n')}`
}

function entry(key: SettingKey, setting: Setting): string {
  const needing = PROGRAMS.filter((program) => program !== 'start' && isNeeded(key, program))
  const names = [`### \`${nameOf(setting)}\``, ...(setting.secret ? [`or \`${nameOf(setting)}_FILE\``] : [])]
  const facts = [
    needing.length > 0 ? `Must be set for ${list(needing)}.` : `Default: ${markNames(defaultOf(setting))}.`,
    `Read by ${list(setting.usedBy)}.`,
  ]
  return `${names.join(', ')}\n\n${setting.words}  \n${facts.join(' ')}`
}

function defaultOf({ preset, otherwise }: Setting): string {
  return otherwise ?? preset ?? 'none'
}

function markNames(text: string): string {
  return /^[\w{}]+$/.test(text) && !['off', 'none'].includes(text) ? `\`${text}\`` : text
}

function list(programs: readonly string[]): string {
  return programs.map((program) => `\`${program}\``).join(', ')
}
