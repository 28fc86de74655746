import type { Resource } from '../../domain/model/records.ts'
import { isDevelopmentHost } from '../../http/login/development-host.ts'
import type { Service } from '../../operators/operations/service.ts'
import { type CommandEnvironment, CommandError, defineCommand, EXIT, UsageError } from '../../operators/terminal/command.ts'
import { readConfiguration } from '../../operators/terminal/configuration/read-configuration.ts'
import { serviceOn } from '../compose/command-service.ts'
import { type DevelopmentStore, openDevelopmentStore } from '../compose/development-store.ts'
import { settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { addFileRecords, type FileClient } from '../development/file-records.ts'
import { requestToken, type TokenResponse } from '../development/token-for.ts'
import { call, reasonOf } from '../doctor/call.ts'

/** The first account of Hardhat and Anvil, with which the development form of the login page begins too. */
const FIRST_TEST_ACCOUNT = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
/** `grantor start` listens on this address only. */
const ADDRESS = '127.0.0.1'
const CLIENT_NAME = 'grantor test-token'

export const testToken = defineCommand({
  name: 'test-token',
  words: 'Prints an access token of a running grantor start, after the whole sign-in of a test account.',
  about: [
    'For development only: the token comes from the service that uses the folder of --data, and only grantor start makes such a folder and has test accounts. The command signs in over HTTP, as a client of its own for the resource, which it registers. It prints the access token and nothing else.',
  ],
  options: {
    resource: { value: 'URI', words: 'The resource for which the token is: that of the demo API unless given.' },
    scope: { value: 'NAME', repeatable: true, words: 'A scope of the resource. All its scopes unless given.' },
    wallet: { value: '0xADDRESS', words: 'The wallet that signs in. The first test account unless given.' },
    curl: { value: 'URL', words: 'Calls this URL with the token, and prints the response in place of the token.' },
    env: {
      words: 'Prints lines NAME=VALUE for a shell: CLIENT_ID, CLIENT_SECRET, ACCESS_TOKEN, REFRESH_TOKEN.',
    },
    data: { value: 'DIR', words: 'The folder of the running grantor start; ./data unless given.' },
  },
  examples: [
    'grantor test-token --resource https://api.example.com/ --scope orders.read',
    'grantor test-token --resource https://api.example.com/ --curl http://localhost:3000/orders',
    'eval "$(grantor test-token --env)"',
  ],
  async run({ options }, environment) {
    const { data = 'data', curl, env } = options
    if (env && curl !== undefined) throw new UsageError('--env and --curl are both given: keep one')
    if (curl !== undefined && !isHttpUrl(curl))
      throw new UsageError(`--curl must be a URL that begins with http:// or https://, not "${curl}"`)
    const { client, tokens } = await signIn({ ...options, data }, environment)
    const { access_token: token } = tokens
    if (curl !== undefined) return callApi(curl, token, environment)
    if (env) for (const line of shellLines(client, tokens)) environment.print(line)
    else environment.print(token)
    return EXIT.done
  },
})

type Wanted = { data: string; resource: string | undefined; scope: string[]; wallet: string | undefined }

async function signIn({ data, scope, wallet = FIRST_TEST_ACCOUNT, ...wanted }: Wanted, environment: CommandEnvironment) {
  const made = openDevelopmentStore(data)
  const settings = settingsFor('clients', environment, data)
  const { authUrl: issuer, loginUrl, defaultResource } = settings
  if (issuer === undefined || loginUrl === undefined) throw notRunning(data, 'it was never started')
  for (const url of [issuer, loginUrl])
    if (!isDevelopmentHost(new URL(url).hostname))
      throw new CommandError(`${url} is no address for development: a test token comes only from grantor start`)
  const uri = wanted.resource ?? defaultResource ?? issuer
  const client = await withStore(settings, environment, async (store, now) =>
    registerClient(made, serviceOn(store, now, { environment, data, settings, keys: null }), { uri, scope }),
  )
  try {
    const named = scope.length > 0 ? scope.join(' ') : undefined
    return {
      client,
      tokens: await requestToken({ address: ADDRESS, issuer, loginUrl, wallet, client, scope: named, resource: uri }),
    }
  } catch (error) {
    if (typeof (error as NodeJS.ErrnoException).code === 'string') throw notRunning(data, `${issuer}: ${reasonOf(error)}`)
    throw new CommandError((error as Error).message)
  }
}

/** One client for each resource, with all scopes, so that a later token changes nothing for an earlier one. */
async function registerClient(
  made: DevelopmentStore,
  service: Service,
  { uri, scope }: { uri: string; scope: string[] },
): Promise<FileClient> {
  const resource = (await service.store.resources.listResources()).find((each) => each.uri === uri)
  if (!resource)
    throw new CommandError(
      `the resource ${uri} is not registered: grantor resources create ${uri} --help, or grantor resources list`,
    )
  const names = resource.scopes.map(({ name }) => name)
  const unknown = scope.find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new CommandError(`the resource ${uri} has no scope ${unknown}: its scopes are ${names.join(', ')}`)
  const configuration = readConfiguration(JSON.stringify({ clients: [clientEntry(resource)] }), CLIENT_NAME)
  const [client] = await addFileRecords(configuration, service, {
    source: CLIENT_NAME,
    idFor: () => made.idFor(`id of the client of test tokens for ${uri}`),
    secretFor: (id) => made.secretFor(`secret of the client ${id}`),
  })
  if (!client) throw new Error('the client was not stored')
  return client
}

function clientEntry({ uri, scopes }: Resource) {
  const redirect_uris = ['http://127.0.0.1/callback']
  return { name: CLIENT_NAME, redirect_uris, resources: [uri], scopes: scopes.map(({ name }) => name) }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

function shellLines({ clientId, clientSecret }: FileClient, { access_token, refresh_token }: TokenResponse): string[] {
  const values = { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, ACCESS_TOKEN: access_token, REFRESH_TOKEN: refresh_token }
  return Object.entries(values).map(([name, value]) => `${name}=${value ?? ''}`)
}

/** Fails for a status of an error, so that a script notices a refusal. */
async function callApi(url: string, token: string, { print, printError }: CommandEnvironment): Promise<number> {
  const answered = await call(url, { authorization: `Bearer ${token}` }).catch((error: unknown) => {
    throw new CommandError(`${url} cannot be called: ${reasonOf(error)}`)
  })
  const { status, headers, body } = answered
  const challenge = headers['www-authenticate']
  if (body !== '') print(printableBody(body))
  if (status < 400) return EXIT.done
  printError(`HTTP ${status}${challenge === undefined ? '' : `, WWW-Authenticate: ${challenge}`}`)
  return EXIT.failed
}

/** Control characters of a server could change the terminal. */
function printableBody(body: string): string {
  // oxlint-disable-next-line eslint/no-control-regex -- these characters are the ones to remove
  return body.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '?').trimEnd()
}

function notRunning(data: string, why: string): CommandError {
  return new CommandError(`the service of ${data} does not run (${why}): start it with grantor start --data ${data}`)
}
