/** What the parameters of an authorization request ask for, held against what the client may have. */
import { isCodeChallenge } from '../oauth/code-challenge.ts'
import { invalidRequest, invalidScope, invalidTarget, unauthorizedClient, unsupportedResponseType } from '../oauth/oauth-error.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { isResourceUri } from '../oauth/resource-uri.ts'
import { isSubset, parseScope } from '../oauth/scope.ts'
import type { Answerable, AuthorizationRequest } from './authorization-request.ts'
import type { Deps } from './deps.ts'
import type { Client } from './model.ts'

export type RequestParameters = Parameters<
  'response_type' | 'scope' | 'code_challenge' | 'code_challenge_method' | 'prompt',
  'resource'
>

export function readRequest(
  deps: Deps,
  client: Client,
  parameters: RequestParameters,
  answerable: Answerable,
): AuthorizationRequest {
  // Absent means `code`: a request may be as bare as client_id and redirect_uri.
  if (parameters.response_type !== null && parameters.response_type !== 'code') throw unsupportedResponseType()
  if (!client.grantTypes.includes('authorization_code')) throw unauthorizedClient('grant_type_not_registered')
  return {
    ...answerable,
    clientId: client.id,
    codeChallenge: readCodeChallenge(client, parameters),
    scopes: readScopes(client, parameters.scope),
    resources: readResources(deps, client, parameters.resource),
  }
}

/** RFC 7636 §4.3. An absent method would mean `plain`, which is not offered (RFC 9700 §2.1.1). */
function readCodeChallenge(client: Client, parameters: RequestParameters): string | null {
  const { code_challenge: challenge, code_challenge_method: method } = parameters
  if (challenge === null) {
    if (method !== null) throw invalidRequest('challenge_missing', 'code_challenge_method was sent without code_challenge.')
    if (client.type !== 'confidential' || client.requirePkce)
      throw invalidRequest('challenge_required', 'This client must send code_challenge (PKCE, S256).')
    return null
  }
  if (method !== 'S256') throw invalidRequest('challenge_method', 'code_challenge_method must be S256.')
  if (!isCodeChallenge(challenge)) throw invalidRequest('challenge_malformed', 'code_challenge must be 43 base64url characters.')
  return challenge
}

function readScopes(client: Client, scope: string | null): string[] {
  if (scope === null) return client.defaultScopes
  const scopes = parseScope(scope)
  if (!scopes) throw invalidScope('scope_malformed')
  if (!isSubset(scopes, client.scopes)) throw invalidScope('scope_not_allowed')
  return scopes
}

/** RFC 8707 §2.1 */
function readResources(deps: Deps, client: Client, resources: string[]): string[] {
  const allowed = [deps.settings.defaultResource, ...client.resources]
  for (const resource of resources) {
    if (!isResourceUri(resource)) throw invalidTarget('resource_malformed')
    if (!allowed.includes(resource)) throw invalidTarget('resource_not_allowed')
  }
  // Written down as what it is, so that what was agreed stays the same if the operator's default moves later.
  return resources.length > 0 ? [...new Set(resources)] : [deps.settings.defaultResource]
}

export type Prompt = { none: boolean; login: boolean; consent: boolean }

const PROMPTS = ['none', 'login', 'consent', 'select_account']

/** OpenID Connect Core §3.1.2.1: "If this parameter contains none with any other value, an error is returned." */
export function readPrompt(prompt: string | null): Prompt {
  const values = prompt?.split(' ') ?? []
  if (!isSubset(values, PROMPTS)) throw invalidRequest('prompt_unknown', 'prompt may be none, login, consent or select_account.')
  if (values.includes('none') && values.length > 1) throw invalidRequest('prompt_none_with_others', 'prompt none stands alone.')
  return {
    none: values.includes('none'),
    // To choose another account is to prove another wallet.
    login: values.includes('login') || values.includes('select_account'),
    consent: values.includes('consent'),
  }
}
