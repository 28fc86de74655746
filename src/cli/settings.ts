/** A command's settings, or everything that is wrong with them as one message. */
import { type Program, readSettings, type Settings } from '../config/settings.ts'
import { EXIT, Failure, type World } from './command.ts'
import { developmentEnvironment } from './development-store.ts'

// What else might help, where it is not the store of `grantor start`.
const HINTS: Partial<Record<Program, string>> = {
  start: '',
  serve: ' On your own machine grantor start needs none.',
  'login-server': ' On your own machine grantor start needs none.',
}

/**
 * The settings a program runs with. With `dataFolder` (the option `--data`) the store and the secrets are those that
 * `grantor start` made there, whatever the environment says of them.
 */
export function settingsFor<P extends Program>(program: P, world: Pick<World, 'env'>, dataFolder?: string): Settings<P> {
  const env = dataFolder === undefined ? world.env : developmentEnvironment(world.env, dataFolder)
  const reading = readSettings(program, env)
  if (reading.kind === 'settings') return reading.settings
  const { faults } = reading
  throw new Failure(
    [
      faults.length === 1 ? 'one setting needs attention' : `${faults.length} settings need attention`,
      ...faults.map((fault) => `- ${fault}`),
      `All settings: docs/settings.md.${HINTS[program] ?? ' For the store that grantor start made: --data ./data'}`,
    ],
    EXIT.usage,
  )
}

/** The option by which the operator's commands reach the store of `grantor start`. */
export const dataOption = {
  value: 'DIR',
  words: 'Uses the store and secrets that grantor start --data DIR made, instead of GRANTOR_DATABASE_URL and GRANTOR_SECRET.',
} as const

export const jsonOption = { words: 'Prints JSON.' } as const
