/** What each parameter and claim is for, in a few words a newcomer understands. */

export const parameterMeanings: Record<string, string> = {
  response_type: 'this app wants a code, not a token in the address bar',
  client_id: 'which app asks',
  redirect_uri: 'where the answer may go; registered before, compared byte for byte',
  scope: 'what this app may do for you',
  state: 'a random value that ties the answer to this browser',
  code_challenge: 'the hash of a secret that only this app knows (PKCE)',
  code_challenge_method: 'the hash is SHA-256',
  code: 'works once, for a short time, and only for this app',
  iss: 'who answered; this app checks that it asked the same one',
  grant_type: 'what the app trades in',
  code_verifier: 'the secret behind the hash: only who asked can have it',
  refresh_token: 'gets new tokens when the access token runs out',
  token: 'the token this is about',
  token_type_hint: 'what kind of token it is',
  error: 'why there is no code',
  error_description: 'the same in words',
}

export const claimMeanings: Record<string, string> = {
  typ: 'an access token, and nothing else can pass as one',
  alg: 'how it is signed',
  kid: 'with which of the service’s published keys',
  iss: 'who issued it',
  sub: 'whose wallet',
  aud: 'which API it is for',
  client_id: 'which app it was given to',
  exp: 'when it stops',
  iat: 'when it was made',
  jti: 'its own name',
  scope: 'what it allows',
  grant_id: 'the permission it belongs to',
  auth_time:
    'when the wallet signed, in seconds since 1970. It stays the same when the token is refreshed. For a transfer, an API can ask for a newer one with max_age',
  acr: 'how the user signed in. urn:grantor:acr:signature: the wallet signed a text, and this service checked it. urn:grantor:acr:vouched: a login server of the platform vouched for the wallet',
}
