/**
 * Prints the machines that an installation needs, from its load and from measured costs. docs/operating/capacity.md explains the result.
 *
 *     npm run capacity -- --users 50000000 --apps 1 --check introspection
 */
import { parseArgs } from 'node:util'
import { type Load, USUAL } from './capacity/model.ts'
import { tableOf } from './capacity/table.ts'

const HELP = `Prints the machines that an installation needs, for each number of users.

  npm run capacity -- [options]

  --users N,N,…            users; one column each (10000000,100000000,1000000000)

On average over all users:
  --apps N                 grants of a user, one for each app (${USUAL.apps})
  --sessions N             sessions of a user (${USUAL.sessions})
  --receipts N             receipts of a user (${USUAL.receipts})
  --hours N                hours a day in which a user uses apps (${USUAL.hours})
  --visits N               times a day that a user opens an app (${USUAL.visits})
  --sign-ins N             signatures of a user's wallet a day (${USUAL.signIns})
  --endings N              grants and tokens of a user that end before their time, a day (${USUAL.endings})
  --calls N                requests to APIs a day (${USUAL.calls})

Of the installation:
  --check WAY              how APIs check tokens: offline, feed or introspection (${USUAL.check})
  --token-lifetime S       lifetime of an access token in seconds (${USUAL.tokenLifetime})
  --peak N                 rate of the busiest hour, as a multiple of the average (${USUAL.peak})
  --receipts-in PLACE      database, or objects: sealed in an object storage (${USUAL.receiptsIn})
  --checkpoint-every S     checkpoint_timeout of PostgreSQL in seconds (${USUAL.checkpointEvery})
  --wal-compression on|off (${USUAL.walCompression})
`

class BadOption extends Error {}

function numberOf(name: string, text: string, least = 0): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < least)
    throw new BadOption(`--${name}: ${text} is not a number of at least ${least}`)
  return value
}

function choiceOf<Choice extends string>(name: string, text: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((each) => each === text)
  if (!choice) throw new BadOption(`--${name}: ${text} is not one of ${choices.join(', ')}`)
  return choice
}

function readLoads(argv: readonly string[]): Load[] | null {
  const text = (value: string | number) => ({ type: 'string', default: String(value) }) as const
  const { values } = parseArgs({
    args: [...argv],
    options: {
      help: { type: 'boolean', default: false },
      users: text('10000000,100000000,1000000000'),
      apps: text(USUAL.apps),
      sessions: text(USUAL.sessions),
      receipts: text(USUAL.receipts),
      hours: text(USUAL.hours),
      visits: text(USUAL.visits),
      'sign-ins': text(USUAL.signIns),
      endings: text(USUAL.endings),
      calls: text(USUAL.calls),
      check: text(USUAL.check),
      'token-lifetime': text(USUAL.tokenLifetime),
      peak: text(USUAL.peak),
      'receipts-in': text(USUAL.receiptsIn),
      'checkpoint-every': text(USUAL.checkpointEvery),
      'wal-compression': text(USUAL.walCompression),
    },
  })
  if (values.help) return null
  const number = (name: Exclude<keyof typeof values, 'help'>, least?: number) => numberOf(name, values[name], least)
  const load = {
    apps: number('apps'),
    sessions: number('sessions'),
    receipts: number('receipts'),
    hours: number('hours'),
    visits: number('visits'),
    signIns: number('sign-ins'),
    endings: number('endings'),
    calls: number('calls'),
    check: choiceOf('check', values.check, ['offline', 'feed', 'introspection']),
    tokenLifetime: number('token-lifetime', 1),
    peak: number('peak', 1),
    receiptsIn: choiceOf('receipts-in', values['receipts-in'], ['database', 'objects']),
    checkpointEvery: number('checkpoint-every', 1),
    walCompression: choiceOf('wal-compression', values['wal-compression'], ['on', 'off']),
  }
  return values.users.split(',').map((users) => ({ ...load, users: numberOf('users', users, 1) }))
}

try {
  const loads = readLoads(process.argv.slice(2))
  console.log(loads ? tableOf(loads) : HELP)
} catch (error) {
  if (!(error instanceof BadOption) && (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') !== true) throw error
  console.error((error as Error).message)
  process.exitCode = 2
}
