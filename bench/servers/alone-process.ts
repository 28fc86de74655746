/**
 * The least that a refresh on PostgreSQL can cost in Node: a server of `node:http` that reads the post, runs the statement over one connection of
 * `pg`, makes one signature, and responds with as many bytes as a token response has. `/empty` responds at once.
 */
import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import pg from 'pg'

type Statement = {
  /** with `:names`, as `grantor migrate --statements` prints them */
  text: string
  values: Record<string, string | number | boolean>
  /** the grants `idPrefix + 0` to `idPrefix + (rows - 1)` are refreshed in turn */
  rows: number
  idPrefix: string
  options: string
}

const { text, values, rows, idPrefix, options } = JSON.parse(process.env.STATEMENT ?? '') as Statement
const names: string[] = []
const numbered = text.replaceAll(/(?<!:):(\w+)/g, (_, name: string) => {
  if (!names.includes(name)) names.push(name)
  return `$${names.indexOf(name) + 1}`
})
const client = new pg.Client({ connectionString: process.env.DATABASE_URL, options })
await client.connect()
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
// As long as an access token with its header.
const claims = 'x'.repeat(600)
const input = Buffer.from(claims)
const refreshToken = 'x'.repeat(85)
let count = 0

async function refresh(): Promise<string> {
  const index = count++
  const row: typeof values = { ...values, grantId: `${idPrefix}${index % rows}`, generation: Math.floor(index / rows) }
  const { rowCount } = await client.query({ name: 'refresh', text: numbered, values: names.map((name) => row[name]) })
  if (rowCount !== 1) throw new Error(`update ${index} changed ${rowCount} rows`)
  const signature = sign('sha256', input, privateKey).toString('base64url')
  return JSON.stringify({ access_token: `${claims}.${signature}`, refresh_token: refreshToken, expires_in: 600 })
}

const server = createServer((request, response) => {
  request.resume()
  const respond = async () => {
    const body = request.url === '/empty' ? '{}' : await refresh()
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
  }
  request.on('end', () => void respond())
})
server.listen(Number(process.env.PORT), '127.0.0.1', () => process.send?.('ready'))
