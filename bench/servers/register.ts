/** Registers further clients with the command, as an operator does. */
import { basic } from '../request.ts'
import type { Target } from '../target.ts'

export type Registered = { id: string; secret: string; authorization: string }

/** `words`: the options of `grantor clients create`. The secret is empty for a client that has none. */
export async function registerClient({ run, name }: Target, ...words: string[]): Promise<Registered> {
  if (!run) throw new Error(`${name} has no commands`)
  const created = JSON.parse(await run(['clients', 'create', ...words, '--json'])) as {
    client_id: string
    client_secret: string | null
  }
  const [id, secret] = [created.client_id, created.client_secret ?? '']
  return { id, secret, authorization: basic(id, secret) }
}

/** The API of the tokens of the bench. */
export async function registerApi(target: Target): Promise<Registered> {
  return registerClient(target, '--name', 'API', '--resource-server', `http://localhost:${target.port}`)
}
