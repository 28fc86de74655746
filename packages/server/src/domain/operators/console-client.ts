/** The client of the console. It is part of the program and not in the store, so no operator can change or delete it. */
import { CLIENT_DEFAULTS } from '../model/client-record.ts'
import type { Client } from '../model/records.ts'
import { adminResourceOf } from './authorize-operator.ts'
import { ADMIN_SCOPES } from './roles.ts'

export const CONSOLE_CLIENT_ID = 'a2a66701-0679-4545-a443-1268b4e0d2f3'

export function consoleCallbackOf(adminUrl: string): string {
  return `${adminUrl}/console/callback`
}

/**
 * The client is confidential and has no secret, so no caller can authenticate as this client over HTTP. Only this process redeems its codes.
 * Every sign-in needs a signed text that names the scopes.
 */
export function consoleClient(adminUrl: string): Client {
  return {
    ...CLIENT_DEFAULTS,
    id: CONSOLE_CLIENT_ID,
    name: 'Grantor console',
    type: 'confidential',
    redirectUris: [consoleCallbackOf(adminUrl)],
    scopes: [...ADMIN_SCOPES],
    defaultScopes: [...ADMIN_SCOPES],
    resources: [adminResourceOf(adminUrl)],
    resourceServer: null,
    exchangeResources: [],
    consent: 'signed',
    requirePkce: true,
    authMethod: 'client_secret_basic',
    grantTypes: ['authorization_code'],
    postLogoutRedirectUris: [],
    secrets: [],
    createdAt: 0,
    disabledAt: null,
  }
}
