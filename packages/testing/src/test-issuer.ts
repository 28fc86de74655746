import {
  type CommandEnvironment,
  clientLines,
  defineCommand,
  developmentLog,
  facts,
  readConfiguration,
  readFileText,
  runCommand,
  shutDownOnSignals,
  UsageError,
} from 'grantor/private'
import { factsOf } from './control.ts'
import { isLoopback } from './development-only.ts'
import { inputEnd } from './input-end.ts'
import { type ClientEntry, configurationOf, type ResourceEntry, USUAL_CLIENT } from './records.ts'
import { FIXED_SETTINGS, startTestIssuer } from './start.ts'
import type { TestGrantor } from './test-grantor.ts'

export const testIssuer = defineCommand({
  name: 'test-issuer',
  isProgram: true,
  words: 'Runs a Grantor for the tests of an app: in memory, with known wallets, a clock to move and faults to order.',
  about: [
    'Prints the issuer and the credentials of the clients. They are the same at every start. The control endpoint gives tokens without a browser, moves the clock and orders faults: docs/guides/testing.md. Tests in JavaScript can import @grantor/testing instead.',
    'It gives a token to every caller. So it refuses to run with NODE_ENV=production or on a public address, and it listens on 127.0.0.1 unless --host is given. Addresses, store and secrets in the environment are ignored; all other settings apply.',
  ],
  options: {
    port: {
      value: 'FIRST',
      words: 'The first of three ports in a row: auth service, login server, control endpoint. Free ports unless given.',
    },
    client: {
      value: 'NAME=REDIRECT_URI',
      repeatable: true,
      words: 'A client. One client, Test app, with the redirect URI http://localhost:3000/callback unless given.',
    },
    resource: {
      value: 'URI',
      repeatable: true,
      words: 'A resource for which every client of --client may request tokens.',
    },
    scope: {
      value: 'NAME',
      repeatable: true,
      words: 'A scope that every client of --client may request, at every resource of --resource; enhancement unless given.',
    },
    file: {
      value: 'FILE',
      words:
        'Clients and resources in the file of grantor apply, in place of --client, --resource and --scope. Operators and webhooks in it are ignored.',
    },
    host: {
      value: 'ADDRESS',
      words:
        'The address to listen on: 127.0.0.1 unless given. 0.0.0.0 is for a container whose ports are published on this machine only; it is refused if the container has a public address.',
    },
    name: {
      value: 'HOST',
      words:
        'The host name in the URLs of the issuer: localhost unless given, otherwise *.localhost, *.test or a loopback address. An app in another container needs a name such as grantor.test.',
    },
    json: {
      words:
        'Prints one line of JSON when the issuer is ready. The log goes to standard error. The issuer ends when its standard input closes, if that is a pipe.',
    },
  },
  examples: [
    'test-issuer --port 4000',
    "test-issuer --port 4000 --client 'My app=http://localhost:3000/callback' --scope notes.read --resource https://api.example.com/",
    'test-issuer --file grantor.yaml --json',
  ],
  program: 'start',
  async run({ options }, environment) {
    const { env, now, print, printError } = environment
    const { host, name, json } = options
    const port = options.port === undefined ? {} : { port: portFrom(options.port) }
    const configuration = configurationFrom(options)
    const log = developmentLog(json ? printError : print)
    const grantor = await startTestIssuer(
      { ...port, now: () => now(), settings: settingsFrom(env), log: (line) => log.write(line) },
      { env, configuration, control: true, ...(host !== undefined && { host }), ...(name !== undefined && { name }) },
    )
    if (host !== undefined && !isLoopback(host))
      printError(`Every program that can reach ${host} can get tokens of this issuer. Publish its ports on your machine only.`)
    // A signal of a test runner ends npx, and not the program that npx started.
    const ended = shutDownOnSignals(grantor.stop, { logger: SILENT, ...(json && { stopRequested: inputEnd() }) })
    if (json) print(JSON.stringify(factsOf(grantor)))
    else for (const line of banner(grantor)) print(line)
    return ended
  },
})

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }

function portFrom(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_533) throw new UsageError(`--port must be a port from 1 to 65533, the first of three, not "${text}"`)
  return port
}

/** All settings of the environment, without those that the issuer makes itself. */
function settingsFrom(env: CommandEnvironment['env']): Record<string, string | undefined> {
  const isSetting = (name: string): boolean => /^(?:GRANTOR|OTEL)_/.test(name) && !FIXED_SETTINGS.includes(name)
  return Object.fromEntries(Object.entries(env).filter(([name]) => isSetting(name)))
}

type RecordOptions = { client: string[]; resource: string[]; scope: string[]; file: string | undefined }

function configurationFrom({ client, resource, scope, file }: RecordOptions) {
  if (file === undefined) return configurationOf(clientsFrom(client, resource, scope), resourcesFrom(resource, scope))
  if (client.length + resource.length + scope.length > 0)
    throw new UsageError('--file is given, and has the clients, resources and scopes: leave out --client, --resource and --scope')
  return readConfiguration(readFileText(file), file)
}

function clientsFrom(clients: readonly string[], resources: readonly string[], scopes: readonly string[]): ClientEntry[] {
  const shared = { ...(resources.length > 0 && { resources }), ...(scopes.length > 0 && { scopes }) }
  if (clients.length === 0) return [{ ...USUAL_CLIENT, ...shared }]
  return clients.map((text) => {
    const at = text.indexOf('=')
    if (at < 1) throw new UsageError(`--client must be NAME=REDIRECT_URI, not ${JSON.stringify(text)}`)
    return { name: text.slice(0, at), redirect_uris: [text.slice(at + 1)], ...shared }
  })
}

/** Users see the description in the sentence "The app may …". */
function resourcesFrom(resources: readonly string[], scopes: readonly string[]): ResourceEntry[] {
  const described = scopes.map((name) => ({ name, description: `use ${name}` }))
  return resources.map((resource) => ({ resource, name: resource.slice(0, NAME_AT_MOST), scopes: described }))
}

const NAME_AT_MOST = 60

function banner({ issuer, loginUrl, controlUrl, clients, wallets }: TestGrantor): string[] {
  return [
    '',
    'The test issuer is ready. Everything in it is gone when it stops.',
    '',
    ...facts([
      ['issuer', issuer],
      ['login server', loginUrl],
      ['control endpoint', `${controlUrl}/test`],
    ]),
    '',
    ...clientLines(clients),
    'Wallets, whose keys are public',
    ...wallets.map(({ address }) => `  ${address}`),
    '',
    'Ctrl-C stops it. Events are logged below.',
    '',
  ]
}

/** Runs `test-issuer ARGV…`, and resolves to the exit code. */
export function main(argv: readonly string[]): Promise<number> {
  return runCommand(testIssuer, argv)
}
