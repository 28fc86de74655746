/** `npm create grantor-app`: a new app whose users sign in with a wallet, with Grantor beside it. */
import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { createFiles, nameOf, removeFiles, requireEmpty } from './create.ts'
import { CreateError } from './create-error.ts'
import { install, packageFiles, packageManagerOf } from './install.ts'
import { choosePorts } from './ports.ts'
import { isTemplateName, type TemplateName, templateNames, templates } from './templates.ts'

const HELP = `npm create grantor-app [FOLDER] -- [options]

Makes a new app whose users sign in with a wallet. "npm run dev" in its folder runs the app, and Grantor beside it.

Templates:
${templateNames.map((name) => `  ${name.padEnd(9)} ${templates[name].words}`).join('\n')}

Options:
  --template NAME      one of the templates; asked for if it is not given
  --port N             the port of the app: 3000 unless given, or the next free one
  --grantor-port N     the first of six ports in a row of Grantor: 4000 unless given, or the next free ones
  --no-install         makes the files only
  --packages DIR       installs Grantor from the packed files in this folder, in place of the registry
  --help

FOLDER is also the name of the app: grantor-app unless given.`

type Options = {
  folder: string
  template: string | undefined
  port: number | undefined
  grantorPort: number | undefined
  installs: boolean
  packages: string | undefined
}

/** Resolves to the exit code: 0 done, 1 failed and the new files are removed, 2 the command line is wrong. */
export async function main(argv: string[]): Promise<number> {
  try {
    const options = parse(argv)
    if (options === 'help') console.log(HELP)
    else await create(options)
    return 0
  } catch (error) {
    if (error instanceof UsageError) return report(`${error.message}\n\n${HELP}`, 2)
    if (error instanceof CreateError) return report(error.message, 1)
    throw error
  }
}

class UsageError extends Error {}

function report(text: string, exit: number): number {
  console.error(text)
  return exit
}

function parse(argv: string[]): Options | 'help' {
  const { values, positionals } = readArguments(argv)
  if (values.help) return 'help'
  const [folder = 'grantor-app', ...others] = positionals
  if (others.length > 0) throw new UsageError(`One folder can be given, not ${positionals.length}.`)
  const { template, packages } = values
  if (template !== undefined) requireTemplate(template)
  return {
    folder,
    template,
    port: portFrom('port', values.port),
    grantorPort: portFrom('grantor-port', values['grantor-port']),
    installs: !values['no-install'],
    packages,
  }
}

function readArguments(argv: string[]) {
  try {
    return parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        template: { type: 'string' },
        port: { type: 'string' },
        'grantor-port': { type: 'string' },
        'no-install': { type: 'boolean' },
        packages: { type: 'string' },
        help: { type: 'boolean' },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function requireTemplate(name: string): TemplateName {
  if (isTemplateName(name)) return name
  throw new UsageError(`There is no template ${JSON.stringify(name)}: choose one of ${templateNames.join(', ')}.`)
}

function portFrom(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port >= 1 && port <= 65_530) return port
  throw new UsageError(`--${option} must be a port from 1 to 65530, not ${JSON.stringify(text)}.`)
}

async function create({ folder, template: given, port, grantorPort, installs, packages }: Options): Promise<void> {
  requireEmpty(folder)
  nameOf(folder)
  const files = packages === undefined ? {} : packageFiles(resolve(packages))
  const template = requireTemplate(given ?? (await askForTemplate()))
  const ports = await choosePorts({ app: port, grantor: grantorPort })
  // Ctrl-C ends the program that installs, and then this one removes the folder.
  process.once('SIGINT', () => undefined)
  const wasThere = existsSync(folder)
  createFiles({ folder, template, ports, files })
  const manager = packageManagerOf(process.env.npm_config_user_agent)
  if (installs) {
    console.log(`Installing the packages of ${folder} …`)
    try {
      install(folder, { manager, python: templates[template].python })
    } catch (error) {
      removeFiles(folder, { wasThere })
      if (!(error instanceof CreateError)) throw error
      throw new CreateError(`${error.message}\n${remedies(folder, packages)}`)
    }
  }
  console.log(nextSteps(folder, ports.app, installs ? [] : installSteps(manager, template), manager))
}

function remedies(folder: string, packages: string | undefined): string {
  const fromFiles =
    packages === undefined
      ? ' Before their first release, the packages of Grantor are in no registry: name the folder with their files with --packages DIR.'
      : ''
  return `Nothing was left in ${folder}. With --no-install, the files are made without the packages.${fromFiles}`
}

function installSteps(manager: string, template: TemplateName): string[] {
  const python = ['python3 -m venv .venv', '.venv/bin/pip install -r requirements.txt']
  return [`${manager} install`, ...(templates[template].python ? python : [])]
}

function nextSteps(folder: string, port: number, installing: readonly string[], manager: string): string {
  const place = relative('.', folder)
  const steps = [...(place === '' ? [] : [`cd ${place}`]), ...installing, `${manager} run dev`]
  return `
${folder} is ready:

${steps.map((step) => `  ${step}`).join('\n')}

Then open http://localhost:${port}, and sign in with your wallet or with a test account.`
}

async function askForTemplate(): Promise<string> {
  if (!process.stdin.isTTY) throw new UsageError('--template is missing, and there is no terminal to ask for it.')
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  try {
    for (const [index, name] of templateNames.entries()) console.log(`  ${index + 1}  ${name.padEnd(9)} ${templates[name].words}`)
    const answer = (await lines.question('Template? ')).trim()
    return templateNames[Number(answer) - 1] ?? answer
  } finally {
    lines.close()
  }
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))
