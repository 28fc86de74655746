/**
 * An API that enhances an item only if the user of the token has signed exactly this enhancement.
 *
 *     ISSUER=https://auth.example.com RESOURCE=https://items.example.com/ CLIENT_ID=… CLIENT_SECRET=… npx node examples/agent/api.ts
 *
 * `PUT /enhancements/{id}` with `{"item":"7","level":3}`. The caller chooses the id. A call with the same id is about the same enhancement, so a
 * caller repeats the call until the user has signed, and after an answer that was lost.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { fileURLToPath } from 'node:url'
import { type Answer, createProtectedResource } from '@grantor/resource'

export type Enhancement = { item: string; level: number }

export type ItemsApiOptions = {
  issuer: string
  /** the address of this API with `/` at the end; also the `aud` of its tokens */
  resource: string
  /** the API's own credentials (a client made with `clients create --resource-server`) */
  clientId: string
  clientSecret: string
  /** the action itself */
  enhance: (wallet: string, enhancement: Enhancement) => void
}

const BODY_AT_MOST = 1_024

/** The server, which does not listen yet. */
export function createItemsApi({ issuer, resource: identifier, clientId, clientSecret, enhance }: ItemsApiOptions): Server {
  const resource = createProtectedResource({
    issuer,
    resource: identifier,
    scopes: ['enhancement'],
    introspection: { clientId, clientSecret },
    dpop: { origin: new URL(identifier).origin },
  })
  /** What was done, by wallet and id. Keep it in a database, together with the items. */
  const done = new Map<string, Enhancement>()

  async function respond(request: IncomingMessage): Promise<Answer> {
    const [, id] = /^\/enhancements\/([\w.-]{1,64})$/.exec(request.url ?? '') ?? []
    if (request.method !== 'PUT' || id === undefined) return resource.answerMetadata(request) ?? json(404, { error: 'not_found' })
    const token = await resource.check(request)
    const before = done.get(`${token.wallet} ${id}`)
    if (before) return json(200, before)
    const action = parseEnhancement(await readBody(request))
    if (!action) return json(400, { error: 'invalid_request' })

    // Throws unless the user has signed. Of all calls with this id, one passes.
    await resource.approve(token, { key: id, summary: `Enhance item ${action.item} to level ${action.level}`, action })
    enhance(token.wallet, action)
    done.set(`${token.wallet} ${id}`, action)
    return json(200, action)
  }

  return createServer((request, response) => {
    void (async () => {
      const { status, headers, body } = await respond(request)
        .catch(resource.answerRefusal)
        .catch((error: unknown) => {
          console.error(error)
          return json(500, { error: 'server_error' })
        })
      response.writeHead(status, headers).end(body)
    })()
  })
}

function json(status: number, value: object): Answer {
  return { status, headers: { 'content-type': 'application/json', 'cache-control': 'no-store' }, body: JSON.stringify(value) }
}

/** The members become part of the text that the user signs, so each is checked. */
function parseEnhancement(body: string): Enhancement | undefined {
  try {
    const { item, level } = JSON.parse(body) as Record<string, unknown>
    if (typeof item !== 'string' || !/^[a-z0-9-]{1,40}$/.test(item)) return undefined
    if (typeof level !== 'number' || !Number.isInteger(level) || level < 1 || level > 100) return undefined
    return { item, level }
  } catch {
    return undefined
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > BODY_AT_MOST) return ''
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function requireVariable(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set`)
  return value
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const resource = requireVariable('RESOURCE')
  const { PORT = new URL(resource).port || '8080' } = process.env
  const api = createItemsApi({
    issuer: requireVariable('ISSUER'),
    resource,
    clientId: requireVariable('CLIENT_ID'),
    clientSecret: requireVariable('CLIENT_SECRET'),
    enhance: (wallet, { item, level }) => console.log(`Item ${item} of ${wallet} has level ${level}.`),
  })
  api.listen(Number(PORT), '127.0.0.1', () => console.log(`The API listens at http://127.0.0.1:${PORT}/`))
}
