/** Clients with tokens of their own, which an operator disables or deletes with the command line. */
import { run as runCommand } from '../../app/run.ts'
import { send } from '../../support/send.ts'
import { basic, encode } from '../../support/walk.ts'
import type { ServiceNode } from '../nodes.ts'
import type { Random } from '../random.ts'
import type { ResourceServer } from '../recorded-client.ts'
import { type Book, claimsOf, entryOf } from './book.ts'
import { untilDone } from './feed-user.ts'

type ClientPlace = {
  env: Record<string, string>
  nodes: readonly ServiceNode[]
  resourceServer: ResourceServer
  book: Book
}

/** One client: three tokens, one is revoked, and the client is disabled or deleted. */
export async function runClient({ env, nodes, resourceServer, book }: ClientPlace, random: Random): Promise<void> {
  const command = (...argv: string[]) =>
    untilDone(async () => {
      const { exit, out, err } = await runCommand(argv, env, Math.floor(Date.now() / 1000))
      // A repeated deletion finds no client.
      if (exit !== 0 && !(argv[1] === 'delete' && err.includes('no client'))) throw new Error(err)
      return out
    })
  const anyNode = () => random.pick(nodes)
  // Each attempt may go to another node: on a busy machine, a node that was killed can be away for minutes.
  const post = (to: () => ServiceNode, path: string, { id, secret }: ResourceServer, fields: Record<string, string>) =>
    untilDone(async () => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded', authorization: basic(id, secret) }
      const answer = await send(to().url, { method: 'POST', path, headers, body: encode(fields) })
      if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.body}`)
      return answer
    })

  const created = await command('clients', 'create', '--name', 'Machine', '--grant-type', 'client_credentials', '--json')
  const { client_id: id, client_secret: secret } = JSON.parse(created) as { client_id: string; client_secret: string }
  const texts: string[] = []
  while (texts.length < 3) {
    const answer = await post(anyNode, '/oauth/token', { id, secret }, { grant_type: 'client_credentials' })
    texts.push(String(answer.json().access_token))
  }
  const [one = '', ...others] = texts
  const token = book.addToken(one)
  const tokens = others.map((text) => book.addToken(text))
  await book.end({
    tokens: [token],
    entries: [entryOf.clientToken(id, claimsOf(one).jti)],
    send: () => post(anyNode, '/oauth/revoke', { id, secret }, { token: one }),
  })
  await book.end({
    tokens,
    entries: [entryOf.client(id)],
    send: () => (random.below(2) === 0 ? command('clients', 'disable', id) : command('clients', 'delete', id, '--yes')),
    // Nodes read clients from memory, and notice changes twice a second.
    async known() {
      for (const node of nodes)
        await untilDone(async () => {
          const { active } = (await post(() => node, '/oauth/introspect', resourceServer, { token: others[0] ?? '' })).json()
          if (active !== false) throw new Error(`${node.name} does not know that the client has ended`)
        })
    },
  })
}
