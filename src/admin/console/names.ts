/** Names of clients for pages. */
import type { Admin } from '../admin.ts'

/** Empty for a client that was deleted, or that is no longer published. */
export async function nameOfClient({ deps }: Pick<Admin, 'deps'>, clientId: string): Promise<string> {
  return (await deps.clients.find(clientId))?.name ?? ''
}

export async function namesOfClients(admin: Pick<Admin, 'deps'>, clientIds: readonly string[]): Promise<Map<string, string>> {
  const unique = [...new Set(clientIds)]
  return new Map(await Promise.all(unique.map(async (id) => [id, await nameOfClient(admin, id)] as const)))
}
