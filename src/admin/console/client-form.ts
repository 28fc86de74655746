/** The labels, hints and choices of the forms for clients and resources. The members are in `domain/configuration/members.ts`. */
import type { Wordings } from './record-form.ts'

export const clientWordings = {
  name: { label: 'Name', hint: 'Users read it before they sign.', isCommon: true },
  type: {
    label: 'Type',
    isCommon: true,
    choices: {
      confidential: 'confidential: a server that keeps a secret',
      public: 'public: a page in a browser',
      native: 'native: an app on a device',
    },
  },
  redirect_uris: { label: 'Redirect URIs', hint: 'One on each line.', isCommon: true },
  scopes: { label: 'Scopes', hint: 'One on each line. “enhancement” unless given.', isCommon: true },
  resources: { label: 'Resources', hint: 'One URI on each line, besides the default resource.', isCommon: true },
  consent: {
    label: 'Consent',
    isCommon: true,
    choices: { session: 'session: a valid session counts as consent', signed: 'signed: the wallet signs each consent' },
  },
  default_scopes: { label: 'Default scopes', hint: 'Granted if a request names no scope. One on each line.' },
  grant_types: { label: 'Grant types' },
  token_endpoint_auth_method: { label: 'Authentication' },
  profile: { label: 'Profile', choices: { default: 'default', fapi2: 'FAPI 2.0 Security Profile' } },
  require_pkce: { label: 'PKCE is required' },
  require_pushed_authorization_requests: { label: 'Pushed authorization requests are required' },
  require_signed_request_object: { label: 'Signed request objects are required' },
  dpop_bound_access_tokens: { label: 'All tokens are bound to a DPoP key' },
  jwks: { label: 'Public keys', hint: 'A JWK Set as JSON.' },
  jwks_uri: { label: 'URI of the public keys' },
  resource_server: { label: 'Resource server', hint: 'The URI of the resource whose tokens this client may introspect.' },
  exchange_resources: { label: 'Exchange resources', hint: 'One URI on each line.' },
  post_logout_redirect_uris: { label: 'Redirect URIs after logout', hint: 'One on each line.' },
  backchannel_logout_uri: { label: 'Back-channel logout URI' },
  backchannel_logout_session_required: { label: 'Logout notices name the session' },
  id_token_signed_response_alg: { label: 'Algorithm of ID tokens' },
  introspection_signed_response_alg: { label: 'Algorithm of signed introspection' },
  authorization_signed_response_alg: { label: 'Algorithm of signed authorization responses' },
  response_modes: { label: 'Response modes', hint: 'All unless given.' },
} as const satisfies Wordings

const { type: _fixed, ...changeable } = clientWordings
/** The type of a client never changes. */
export const clientChangeWordings: Wordings = changeable

export const resourceWordings = {
  resource: { label: 'URI', hint: 'The value of the parameter “resource”, and the audience of the tokens.', isCommon: true },
  name: { label: 'Name', hint: 'Users read it before they sign.', isCommon: true },
  scopes: { label: 'Scopes', hint: 'One on each line: notes.read: read your notes', isCommon: true },
  open_to: {
    label: 'Open to',
    isCommon: true,
    choices: {
      registered: 'clients that an operator registered and that list the resource',
      metadata: 'clients with a metadata document',
      dynamic: 'clients that register themselves',
    },
  },
} as const satisfies Wordings

const { resource: _uri, ...resourceChanges } = resourceWordings
export const resourceChangeWordings: Wordings = resourceChanges
