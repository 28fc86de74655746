import { settingRecord, settings as subject } from '../../operators/operations/settings.ts'
import { defineCommand, EXIT } from '../../operators/terminal/command.ts'
import { columnLines } from '../../operators/terminal/operations/print.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'

const PROGRAMS = ['serve', 'login-server', 'start'] as const

export const settings = defineCommand({
  name: 'settings',
  words: 'Lists the settings in force, and where each value comes from.',
  about:
    'Reads the environment of the command as grantor serve does at its start, and opens no database. For the settings of a process that runs, use the page Settings of the console or GET /v1/settings. Secrets are never printed: only whether they are set. Exits with 2 and lists all faults if a setting is invalid.',
  options: {
    program: { value: 'NAME', choices: PROGRAMS, words: 'The program that would read the settings: serve unless given.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: ['', '--program login-server', '--json | jq .'].map((rest) => `grantor settings ${rest}`.trimEnd()),
  async run({ options }, environment) {
    const program = PROGRAMS.find((each) => each === options.program) ?? 'serve'
    const records = settingsFor(program, environment, options.data).inForce.map(settingRecord)
    const lines = options.json ? [JSON.stringify(records)] : columnLines(subject, records)
    for (const line of lines) environment.print(line)
    return EXIT.done
  },
})
