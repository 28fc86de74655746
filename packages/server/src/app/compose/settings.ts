/** A command's settings, or all of their faults in one message. */
import { type Program, readSettings, type Settings } from '../../config/settings.ts'
import { type CommandEnvironment, CommandError, EXIT } from '../../operators/terminal/command.ts'
import { developmentEnvironment } from './development-store.ts'

const SERVER_HINT = ' grantor init writes those of a new installation. On your own machine grantor start needs none.'
// A hint for each program that does not use the store of `grantor start`.
const HINTS: Partial<Record<Program, string>> = {
  start: '',
  serve: SERVER_HINT,
  'login-server': SERVER_HINT,
}

/**
 * The settings of a program. With `dataFolder` (the option `--data`), the store and the secrets are those of `grantor
 * start` in that folder, and the environment's are ignored.
 */
export function settingsFor<P extends Program>(
  program: P,
  environment: Pick<CommandEnvironment, 'env'>,
  dataFolder?: string,
): Settings<P> {
  const env = dataFolder === undefined ? environment.env : developmentEnvironment(environment.env, dataFolder)
  const reading = readSettings(program, env)
  if (reading.kind === 'settings') return reading.settings
  const { faults } = reading
  throw new CommandError(
    [
      faults.length === 1 ? 'one setting needs attention' : `${faults.length} settings need attention`,
      ...faults.map((fault) => `- ${fault}`),
      `All settings: docs/reference/settings.md.${HINTS[program] ?? ' For the store that grantor start made: --data ./data'}`,
    ],
    EXIT.usage,
  )
}

/** The option with which the operator's commands use the store of `grantor start`. */
export const dataOption = {
  value: 'DIR',
  words: 'Uses the store and secrets that grantor start --data DIR made, instead of GRANTOR_DATABASE_URL and GRANTOR_SECRET.',
} as const

export const jsonOption = { words: 'Prints JSON.' } as const
