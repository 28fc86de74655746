/** Programs that call the admin API, each with its own access token. */

import type { OperatorRole } from '../../src/domain/model/records.ts'
import { setOperator } from '../../src/domain/operators/operators.ts'
import { ADMIN_SCOPES, type AdminScope } from '../../src/domain/operators/roles.ts'
import { asserting, assertionOf, newClientKey, post } from './client-key.ts'
import { type Answer, send } from './send.ts'
import type { Grantor, TestClient } from './start.ts'

export type AdminCaller = {
  client: TestClient
  token: string
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

const key = newClientKey('ES256', 'admin')

/** A client with private_key_jwt that is an operator with this role, and its token for these scopes. The first call adds an owner. */
export async function adminCaller(
  grantor: Grantor,
  role: OperatorRole | null,
  scopes: readonly AdminScope[] = ADMIN_SCOPES,
): Promise<AdminCaller> {
  const resource = `${grantor.adminUrl}/`
  const client = await grantor.createClient({
    name: `Caller ${role}`,
    redirectUris: [],
    grantTypes: ['client_credentials'],
    authMethod: 'private_key_jwt',
    jwks: { keys: [key.jwk] },
    scopes: [...ADMIN_SCOPES],
    resources: [resource],
  })
  if ((await grantor.store.lists.readList('operators')).length === 0 && role !== 'owner')
    await setOperator(grantor.store, { id: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', role: 'owner', at: grantor.clock.now() })
  if (role !== null) await setOperator(grantor.store, { id: client.id, role, at: grantor.clock.now() })
  const answer = await post(grantor, '/oauth/token', {
    grant_type: 'client_credentials',
    scope: scopes.join(' '),
    resource,
    ...asserting(await assertionOf(grantor, client.id, key)),
  })
  const token = String(answer.json().access_token)
  return {
    client,
    token,
    call: (method, path, body, headers = {}) =>
      send(grantor.adminUrl, {
        method,
        path,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
  }
}
