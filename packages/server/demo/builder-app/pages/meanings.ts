/** The purpose of each parameter and claim, in a few words for a newcomer. */

export const parameterMeanings: Record<string, string> = {
  response_type: 'the response is a code, not a token in the address bar',
  client_id: 'which app sends the request',
  redirect_uri: 'where the answer may go; registered before, compared byte for byte',
  scope: 'what this app may do for you',
  state: 'a random value that binds the answer to this browser',
  code_challenge: 'the hash of a secret that only this app has (PKCE)',
  code_challenge_method: 'the hash is SHA-256',
  code: 'works once, for a short time, and only for this app',
  iss: 'the service that answered; this app checks that it sent the request to the same one',
  grant_type: 'what the app exchanges for tokens',
  code_verifier: 'the secret of the hash: only the app that sent the request has it',
  refresh_token: 'gets new tokens when the access token has expired',
  token: 'the token of this request',
  token_type_hint: 'what kind of token it is',
  error: 'why there is no code',
  error_description: 'the reason in words',
}

export const claimMeanings: Record<string, string> = {
  typ: 'an access token; a token of another kind cannot be used as one',
  alg: 'how it is signed',
  kid: 'with which of the service’s published keys',
  iss: 'who issued it',
  sub: 'whose wallet',
  aud: 'which API it is for',
  client_id: 'which app it was given to',
  exp: 'when it expires',
  iat: 'when it was issued',
  jti: 'the id of the token',
  scope: 'what it allows',
  grant_id: 'the permission it belongs to',
  auth_time:
    'when the wallet signed, in seconds since 1970. It stays the same when the token is refreshed. For a transfer, an API can ask for a newer one with max_age',
  acr: 'how the user signed in. urn:grantor:acr:signature: the wallet signed a text, and this service checked it. urn:grantor:acr:vouched: a login server of the platform vouched for the wallet',
}
