/** What docs/reference/feed-vectors.json consists of: messages and tokens with fixed keys, and what a reader does with them. */
import { createHash, createPrivateKey, type JsonWebKey, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ed25519 } from '@noble/curves/ed25519.js'
import { p256 } from '@noble/curves/nist.js'

const ISSUER = 'https://auth.example.com'
const RESOURCE = 'https://api.example.com/notes'
const OTHER_RESOURCE = 'https://api.example.com/other'
/** The server's clock at the beginning, in milliseconds. */
const START = 1_800_000_000_000
const LIFETIME = 600
/** that of every request */
const NONCE = 'AAECAwQFBgcICQoLDA0ODw'
/** that of an earlier request */
const OTHER_NONCE = 'EBESExQVFhcYGRobHB0eHw'
const APP = '6f1c2d9e-3b57-4f0a-9a4e-1c2b3d4e5f60'
const SERVER_APP = 'a1b2c3d4-0000-4000-8000-000000000001'

const rsa = createPrivateKey({
  key: JSON.parse(readFileSync(new URL('rsa-key.json', import.meta.url), 'utf8')) as JsonWebKey,
  format: 'jwk',
})
const p256Key = new Uint8Array(32).fill(7)
const ed25519Key = new Uint8Array(32).fill(9)
/** signs as `es`, but is not in the JWK Set */
const foreignKey = new Uint8Array(32).fill(8)

type KeyName = 'es' | 'ed' | 'rs' | 'foreign'
const ALGORITHMS = { es: 'ES256', ed: 'EdDSA', rs: 'RS256', foreign: 'ES256' } as const

/** The same signature each time: RFC 6979 for ES256. */
function signatureOf(key: KeyName, text: string): Uint8Array {
  const bytes = Buffer.from(text)
  if (key === 'ed') return ed25519.sign(bytes, ed25519Key)
  if (key === 'rs') return sign('sha256', bytes, rsa)
  return p256.sign(bytes, key === 'es' ? p256Key : foreignKey, { lowS: false })
}

const base64url = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('base64url')

export function jws(typ: string, key: KeyName, claims: object, header: object = {}): string {
  const first = { typ, alg: ALGORITHMS[key], kid: key === 'foreign' ? 'es' : key, ...header }
  const signed = `${base64url(JSON.stringify(first))}.${base64url(JSON.stringify(claims))}`
  return `${signed}.${base64url(signatureOf(key, signed))}`
}

export function jwks(): object {
  const point = p256.getPublicKey(p256Key, false)
  const { n, e } = rsa.export({ format: 'jwk' })
  return {
    keys: [
      {
        kty: 'EC',
        crv: 'P-256',
        x: base64url(point.subarray(1, 33)),
        y: base64url(point.subarray(33)),
        kid: 'es',
        alg: 'ES256',
        use: 'sig',
      },
      { kty: 'OKP', crv: 'Ed25519', x: base64url(ed25519.getPublicKey(ed25519Key)), kid: 'ed', alg: 'EdDSA', use: 'sig' },
      { kty: 'RSA', n, e, kid: 'rs', alg: 'RS256', use: 'sig' },
    ],
  }
}

const uuid = (text: string): Buffer => Buffer.from(text.replaceAll('-', ''), 'hex')
const hash = (text: string): Buffer => createHash('sha256').update(text).digest().subarray(0, 16)
const grant = (number: number): string => `019a0000-0000-7000-8000-${String(number).padStart(12, '0')}`
const jti = (number: number): string => `00000000-0000-4000-9000-${String(number).padStart(12, '0')}`
const entries = (...list: Buffer[]): string => base64url(Buffer.concat(list))
/** A time after which entries may be forgotten. */
const LATER = String(START / 1000 + LIFETIME + 60)

/** Times are milliseconds after `START`. */
type MessageOf = { key?: KeyName; typ?: string; at: number; from?: number | null; until: number; more?: object; header?: object }

function message({ key = 'es', typ = 'endings+jwt', at, from = null, until, more = {}, header = {} }: MessageOf): string {
  const time = START + at
  const claims = {
    iss: ISSUER,
    aud: RESOURCE,
    iat: Math.floor(time / 1000),
    at: time,
    feed: 'run-1',
    from: from === null ? null : START + from,
    until: START + until,
    lifetime: LIFETIME,
    ...(from === null ? { nonce: NONCE, part: [1, 1], snapshot: 'one' } : {}),
    keys: ['es', 'ed'],
    ...more,
  }
  return jws(typ, key, claims, header)
}

function token(claims: object = {}, key: KeyName = 'es'): string {
  const usual = {
    iss: ISSUER,
    sub: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    aud: RESOURCE,
    client_id: APP,
    iat: START / 1000 - 10,
    exp: START / 1000 + LIFETIME - 10,
    jti: jti(1),
    scope: 'notes.read',
    grant_id: grant(1),
  }
  return jws('at+jwt', key, { ...usual, ...claims })
}

const snapshot = message({ at: 0, until: -400 })
const truncated = message({ at: 600, from: -400, until: 500 }).slice(0, -20)

const messages = {
  snapshot,
  snapshot_eddsa: message({ key: 'ed', at: 0, until: -400 }),
  snapshot_rs256: message({ key: 'rs', at: 0, until: -400 }),
  snapshot_with_endings: message({
    at: 0,
    until: -400,
    more: {
      ended: { [LATER]: entries(uuid(grant(2)), uuid(jti(3)), hash(`${APP}\0${jti(4)}`)) },
      clients: { [LATER]: entries(hash(SERVER_APP)) },
    },
  }),
  nothing_new: message({ at: 600, from: -400, until: 500 }),
  nothing_new_later: message({ at: 1600, from: 500, until: 1500 }),
  first_after_a_cursor: message({ at: 600, from: -400, until: 500, more: { nonce: NONCE } }),
  snapshot_without_a_nonce: message({ at: 0, until: -400, more: { nonce: undefined } }),
  snapshot_with_an_earlier_nonce: message({ at: 0, until: -400, more: { nonce: OTHER_NONCE } }),
  snapshot_with_an_earlier_until: message({ at: 700, until: -600 }),
  after_the_snapshot_with_an_earlier_until: message({ at: 700, from: -600, until: 0 }),
  grant_1_ended_again: message({
    at: 900,
    from: 0,
    until: 800,
    more: { ended: { [LATER]: entries(uuid(grant(1)), uuid(grant(2))) } },
  }),
  snapshot_with_an_earlier_at: message({ at: 1000, until: 900 }),
  snapshot_later: message({ at: 5000, until: 4900 }),
  grant_1_ended: message({ at: 600, from: -400, until: 500, more: { ended: { [LATER]: entries(uuid(grant(1))) } } }),
  key_es_retired: message({ key: 'ed', at: 600, from: -400, until: 500, more: { keys: ['ed'] } }),
  unknown_claim: message({ at: 600, from: -400, until: 500, more: { another: { claim: true } } }),
  part_1_of_3: message({ at: 0, until: -400, more: { part: [1, 3], ended: { [LATER]: entries(uuid(grant(1))) } } }),
  part_2_of_3: message({
    at: 0,
    until: -400,
    more: { nonce: undefined, part: [2, 3], ended: { [LATER]: entries(uuid(grant(2))) } },
  }),
  part_3_of_3: message({
    at: 0,
    until: -400,
    more: { nonce: undefined, part: [3, 3], clients: { [LATER]: entries(hash(SERVER_APP)) } },
  }),
  part_3_of_another_run: message({ at: 0, until: -400, more: { nonce: undefined, part: [3, 3], feed: 'run-2' } }),
  part_3_of_another_snapshot: message({ at: 0, until: -400, more: { nonce: undefined, part: [3, 3], snapshot: 'other' } }),
  part_2_as_the_first_message: message({ at: 0, until: -400, more: { part: [2, 3] } }),
  part_3_as_the_first_message: message({ at: 0, until: -400, more: { part: [3, 3] } }),
  part_3_with_another_until: message({ at: 0, until: -300, more: { nonce: undefined, part: [3, 3] } }),
  forged: message({ key: 'foreign', at: 600, from: -400, until: 500 }),
  truncated,
  of_an_unknown_key: message({ at: 600, from: -400, until: 500, header: { kid: 'unknown' } }),
  with_another_algorithm_than_the_key: message({ at: 600, from: -400, until: 500, header: { alg: 'RS256' } }),
  with_an_old_iat: message({ at: 600, from: -400, until: 500, more: { iat: 1 } }),
  unsigned: `${message({ at: 600, from: -400, until: 500, header: { alg: 'none' } })
    .split('.')
    .slice(0, 2)
    .join('.')}.`,
  of_another_issuer: message({ at: 600, from: -400, until: 500, more: { iss: 'https://other.example.com' } }),
  for_another_resource: message({ at: 600, from: -400, until: 500, more: { aud: OTHER_RESOURCE } }),
  typ_of_an_access_token: message({ typ: 'at+jwt', at: 600, from: -400, until: 500 }),
  until_in_the_future: message({ at: 600, from: -400, until: 60_000 }),
  half_an_entry: message({ at: 600, from: -400, until: 500, more: { ended: { [LATER]: base64url(Buffer.alloc(24, 1)) } } }),
  older: message({ at: 700, from: -1000, until: -500 }),
  after_a_gap: message({ at: 1600, from: 900, until: 1500 }),
  of_another_run: message({ at: 600, from: -400, until: 500, more: { feed: 'run-2' } }),
  another_run_in_the_same_response: message({ at: 1600, until: 1500, more: { nonce: undefined, feed: 'run-2' } }),
  snapshot_of_another_run: message({ at: 2000, until: 1600, more: { feed: 'run-2' } }),
  snapshot_of_an_older_standby: message({
    at: 2000,
    until: 1600,
    more: { feed: 'run-2', ended: { [LATER]: entries(uuid(grant(5))) } },
  }),
  from_a_server_whose_clock_was_set_forward: message({ at: 60_600, from: -400, until: 60_500 }),
  from_a_server_whose_clock_was_set_back: message({ at: -59_400, from: -400, until: -59_500, more: { feed: 'run-2' } }),
  snapshot_of_a_server_that_is_a_minute_ahead: message({ at: 60_000, until: 59_600 }),
  snapshot_of_a_server_that_is_a_minute_behind: message({ at: -60_000, until: -60_400, more: { feed: 'run-2' } }),
  after_twelve_minutes: message({ at: 720_600, from: -400, until: 720_500 }),
}

const tokens = {
  of_grant_1: token(),
  of_grant_1_eddsa: token({}, 'ed'),
  of_grant_1_rs256: token({}, 'rs'),
  of_grant_2: token({ grant_id: grant(2), jti: jti(2) }),
  of_grant_5: token({ grant_id: grant(5), jti: jti(5) }),
  revoked: token({ grant_id: grant(3), jti: jti(3) }),
  exchanged_from_revoked: token({ grant_id: grant(3), jti: jti(6), exchanged_from: [jti(7), jti(3)] }),
  exchanged_from_others: token({ grant_id: grant(3), jti: jti(6), exchanged_from: [jti(7), jti(8)] }),
  of_the_client_itself: token({ sub: APP, grant_id: undefined, jti: jti(8) }),
  of_the_client_itself_revoked: token({ sub: APP, grant_id: undefined, jti: jti(4) }),
  with_a_grant_and_the_hash_of_another: token({ jti: jti(4) }),
  of_a_changed_client: token({ client_id: SERVER_APP }),
  through_a_changed_client: token({ act: { sub: APP, act: { sub: SERVER_APP } } }),
  through_another_client: token({ act: { sub: APP } }),
  that_lives_too_long: token({ exp: START / 1000 + 3600 }),
  that_has_an_id_that_is_no_uuid: token({ jti: 'id-1' }),
}

type MessageStep = {
  message: keyof typeof messages
  at: number
  expect: 'complete' | 'more_parts' | 'refuse' | 'snapshot' | 'stale'
}
type TokenStep = { token: keyof typeof tokens; at: number; expect: 'valid' | 'ended' | 'ask' }
type Step = { connect: number; nonce: string } | MessageStep | TokenStep

const connect = (at: number): Step => ({ connect: at, nonce: NONCE })
const take = (name: keyof typeof messages, at: number, expected: MessageStep['expect'] = 'complete'): Step => ({
  message: name,
  at,
  expect: expected,
})
const check = (name: keyof typeof tokens, at: number, expected: TokenStep['expect']): Step => ({
  token: name,
  at,
  expect: expected,
})
const case_ = (name: string, ...steps: Step[]) => ({ name, steps })
/** The beginning of most cases: at the monotonic time 5000, the server's clock is at `START` or up to 20 ms later. */
const begun = (first: keyof typeof messages = 'snapshot'): Step[] => [connect(5000), take(first, 5020)]
const refused = (name: keyof typeof messages) =>
  case_(
    `The message ${name} is refused, and the state stays as it was`,
    ...begun(),
    take(name, 5620, 'refuse'),
    check('of_grant_1', 5630, 'valid'),
    check('of_grant_1', 7800, 'ask'),
  )
const restarted = (name: keyof typeof messages, why: string) =>
  case_(
    `${why}: the reader forgets the feed, and reads a snapshot`,
    ...begun(),
    take(name, 6620, 'snapshot'),
    check('of_grant_1', 6630, 'ask'),
    connect(7000),
    take('snapshot_of_another_run', 7020),
    check('of_grant_1', 7030, 'valid'),
  )

const cases = [
  case_('Before the first snapshot, the feed decides nothing', connect(5000), check('of_grant_1', 5010, 'ask')),
  case_('A token of a grant that did not end is valid', ...begun(), check('of_grant_1', 5030, 'valid')),
  case_('Messages of each algorithm are accepted: EdDSA', ...begun('snapshot_eddsa'), check('of_grant_1_eddsa', 5030, 'valid')),
  case_('Messages of each algorithm are accepted: RS256', ...begun('snapshot_rs256'), check('of_grant_1', 5030, 'valid')),
  case_(
    'A token of a grant that ended is refused, from the message on that has the grant',
    ...begun(),
    check('of_grant_1', 5030, 'valid'),
    take('grant_1_ended', 5620),
    check('of_grant_1', 5630, 'ended'),
    check('of_grant_2', 5630, 'valid'),
  ),
  case_(
    'The snapshot has what ended before: grants, tokens, tokens of clients, and changed clients',
    ...begun('snapshot_with_endings'),
    check('of_grant_1', 5030, 'valid'),
    check('of_grant_2', 5030, 'ended'),
    check('revoked', 5030, 'ended'),
    check('exchanged_from_revoked', 5030, 'ended'),
    check('exchanged_from_others', 5030, 'valid'),
    check('of_the_client_itself', 5030, 'valid'),
    check('of_the_client_itself_revoked', 5030, 'ended'),
    check('with_a_grant_and_the_hash_of_another', 5030, 'valid'),
    check('of_a_changed_client', 5030, 'ask'),
    check('through_a_changed_client', 5030, 'ask'),
    check('through_another_client', 5030, 'valid'),
  ),
  case_(
    'A token whose key is not in keys, or whose lifetime is longer than `lifetime`, is introspected',
    ...begun(),
    check('of_grant_1_rs256', 5030, 'ask'),
    check('that_lives_too_long', 5030, 'ask'),
    check('of_grant_1', 5030, 'valid'),
    take('key_es_retired', 5620),
    check('of_grant_1', 5630, 'ask'),
    check('of_grant_1_eddsa', 5630, 'valid'),
  ),
  case_(
    'A token with an identifier that cannot be in the feed is introspected',
    ...begun(),
    check('that_has_an_id_that_is_no_uuid', 5030, 'ask'),
  ),
  case_('Unknown claims are ignored', ...begun(), take('unknown_claim', 5620), check('of_grant_1', 5630, 'valid')),
  case_(
    'The feed is too old three seconds after until',
    ...begun(),
    take('nothing_new', 5620),
    take('nothing_new_later', 6620),
    check('of_grant_1', 9300, 'valid'),
    check('of_grant_1', 9500, 'ask'),
  ),
  case_(
    'A message that was under way for long does not make the feed younger',
    ...begun(),
    take('nothing_new', 8600),
    check('of_grant_1', 8610, 'ask'),
  ),
  case_(
    'A snapshot in parts counts when the last part has arrived',
    connect(5000),
    take('part_1_of_3', 5020, 'more_parts'),
    check('of_grant_2', 5021, 'ask'),
    take('part_2_of_3', 5022, 'more_parts'),
    check('of_grant_2', 5023, 'ask'),
    take('part_3_of_3', 5024),
    check('of_grant_1', 5030, 'ended'),
    check('of_grant_2', 5030, 'ended'),
    check('of_grant_5', 5030, 'valid'),
    check('of_a_changed_client', 5030, 'ask'),
  ),
  case_(
    'The earlier state stays in use until the snapshot is complete',
    ...begun(),
    connect(5100),
    take('part_1_of_3', 5120, 'more_parts'),
    check('of_grant_1', 5130, 'valid'),
    take('part_2_of_3', 5140, 'more_parts'),
    take('part_3_of_3', 5160),
    check('of_grant_1', 5170, 'ended'),
  ),
  case_(
    'A part that is missing is noticed',
    connect(5000),
    take('part_1_of_3', 5020, 'more_parts'),
    take('part_3_of_3', 5022, 'snapshot'),
    check('of_grant_5', 5030, 'ask'),
  ),
  case_(
    'Parts in another order are refused',
    connect(5000),
    take('part_2_as_the_first_message', 5020, 'snapshot'),
    check('of_grant_5', 5030, 'ask'),
  ),
  case_(
    'A part of another run of the feed is refused',
    connect(5000),
    take('part_1_of_3', 5020, 'more_parts'),
    take('part_2_of_3', 5022, 'more_parts'),
    take('part_3_of_another_run', 5024, 'snapshot'),
    check('of_grant_5', 5030, 'ask'),
  ),
  case_(
    'A change between the parts of a snapshot is refused',
    connect(5000),
    take('part_1_of_3', 5020, 'more_parts'),
    take('nothing_new', 5620, 'snapshot'),
    check('of_grant_5', 5630, 'ask'),
  ),
  case_(
    'A part of another snapshot is refused, also if the run and until are the same',
    connect(5000),
    take('part_1_of_3', 5020, 'more_parts'),
    take('part_2_of_3', 5022, 'more_parts'),
    take('part_3_of_another_snapshot', 5024, 'snapshot'),
    check('of_grant_5', 5030, 'ask'),
  ),
  case_(
    'A part with another until is refused',
    connect(5000),
    take('part_1_of_3', 5020, 'more_parts'),
    take('part_2_of_3', 5022, 'more_parts'),
    take('part_3_with_another_until', 5024, 'snapshot'),
    check('of_grant_5', 5030, 'ask'),
  ),
  case_(
    'A change of the earlier state between the parts of a snapshot is refused',
    ...begun(),
    connect(5100),
    take('part_1_of_3', 5120, 'more_parts'),
    take('nothing_new', 5720, 'snapshot'),
    check('of_grant_5', 5730, 'ask'),
  ),
  case_(
    'The parts of a connection that ended are forgotten',
    connect(5000),
    take('part_1_of_3', 5020, 'more_parts'),
    take('part_2_of_3', 5022, 'more_parts'),
    connect(5100),
    take('part_3_as_the_first_message', 5120, 'snapshot'),
    check('of_grant_5', 5130, 'ask'),
  ),
  case_(
    'A change before the snapshot is refused',
    connect(5000),
    take('first_after_a_cursor', 5620, 'snapshot'),
    check('of_grant_1', 5630, 'ask'),
  ),
  ...(
    [
      'forged',
      'truncated',
      'of_an_unknown_key',
      'with_another_algorithm_than_the_key',
      'unsigned',
      'of_another_issuer',
      'for_another_resource',
      'typ_of_an_access_token',
      'until_in_the_future',
      'half_an_entry',
    ] as const
  ).map(refused),
  restarted('older', 'A message is older than the state'),
  restarted('after_a_gap', 'A message is missing'),
  restarted('of_another_run', 'A message is of another run of the feed'),
  restarted('another_run_in_the_same_response', 'A later snapshot in the same response is of another run of the feed'),
  case_('The iat of a message is not checked', ...begun(), take('with_an_old_iat', 5620), check('of_grant_1', 5630, 'valid')),
  case_(
    'A snapshot without the nonce of the request is refused: it may be a recording',
    connect(5000),
    take('snapshot_without_a_nonce', 5020, 'refuse'),
    check('of_grant_1', 5030, 'ask'),
  ),
  case_(
    'A snapshot with the nonce of an earlier request is refused',
    connect(5000),
    take('snapshot_with_an_earlier_nonce', 5020, 'refuse'),
    check('of_grant_1', 5030, 'ask'),
  ),
  case_(
    'A recording of a snapshot is refused, and the state stays as it was',
    ...begun(),
    take('grant_1_ended', 5620),
    connect(5700),
    take('snapshot_with_an_earlier_nonce', 5720, 'refuse'),
    check('of_grant_1', 5730, 'ended'),
    check('of_grant_2', 5730, 'valid'),
  ),
  case_(
    'The first message after a cursor has the nonce of the request',
    ...begun(),
    connect(5500),
    take('first_after_a_cursor', 5620),
    check('of_grant_1', 5630, 'valid'),
    take('nothing_new_later', 6620),
  ),
  case_(
    'The first message after a cursor is refused without the nonce of the request',
    ...begun(),
    connect(5500),
    take('nothing_new', 5620, 'refuse'),
    check('of_grant_1', 5630, 'valid'),
  ),
  case_(
    'Within a run, a snapshot counts when it has come as far as the state: a token that was refused stays refused',
    ...begun(),
    take('grant_1_ended', 5620),
    connect(5700),
    take('snapshot_with_an_earlier_until', 5720, 'more_parts'),
    check('of_grant_1', 5725, 'ended'),
    take('after_the_snapshot_with_an_earlier_until', 5730, 'more_parts'),
    check('of_grant_1', 5735, 'ended'),
    take('grant_1_ended_again', 5930),
    check('of_grant_1', 5940, 'ended'),
    check('of_grant_2', 5940, 'ended'),
    check('of_grant_5', 5940, 'valid'),
  ),
  case_(
    'This also holds after the reader has forgotten the feed',
    ...begun(),
    take('grant_1_ended', 5620),
    take('older', 5720, 'snapshot'),
    connect(5730),
    take('snapshot_with_an_earlier_until', 5750, 'more_parts'),
    check('of_grant_1', 5755, 'ask'),
    take('after_the_snapshot_with_an_earlier_until', 5760, 'more_parts'),
    take('grant_1_ended_again', 5930),
    check('of_grant_1', 5940, 'ended'),
  ),
  case_(
    'Within a run, the clock of the server does not go back by more than two seconds',
    ...begun(),
    take('nothing_new', 5620),
    connect(9000),
    take('snapshot_with_an_earlier_at', 9020, 'refuse'),
    check('of_grant_1', 9030, 'ask'),
  ),
  case_(
    'A minute after the latest message the reader no longer compares',
    ...begun(),
    connect(66_000),
    take('snapshot_later', 66_020),
    check('of_grant_1', 66_030, 'valid'),
  ),
  case_(
    'A snapshot replaces everything: what an older standby does not have is forgotten',
    ...begun(),
    take('grant_1_ended', 5620),
    check('of_grant_1', 5630, 'ended'),
    connect(7000),
    take('snapshot_of_an_older_standby', 7020),
    check('of_grant_1', 7030, 'valid'),
    check('of_grant_5', 7030, 'ended'),
  ),
  case_(
    'The clock of the server is set forward: the feed is stale until the next connection',
    ...begun(),
    take('from_a_server_whose_clock_was_set_forward', 5620, 'stale'),
    check('of_grant_1', 5630, 'ask'),
    connect(6000),
    take('snapshot_of_a_server_that_is_a_minute_ahead', 6020),
    check('of_grant_1', 6030, 'valid'),
  ),
  case_(
    'The clock of the server is set back: the feed does not continue',
    ...begun(),
    take('from_a_server_whose_clock_was_set_back', 5620, 'snapshot'),
    check('of_grant_1', 5630, 'ask'),
    connect(6000),
    take('snapshot_of_a_server_that_is_a_minute_behind', 6020),
    check('of_grant_1', 6030, 'valid'),
    check('of_grant_1', 8800, 'ask'),
  ),
  case_(
    'A token that has expired by the clock of the server is introspected: the entries may be forgotten',
    ...begun(),
    take('after_twelve_minutes', 725_610),
    check('of_grant_1', 725_620, 'ask'),
  ),
]

export const vectors = {
  about:
    'Test vectors for readers of the feed of endings: feed.md. A step `connect` is a request that the reader sends, with `nonce`. `at` and `connect` are times of the monotonic clock of the reader, in milliseconds. A message is `complete` (the feed counts from here), `more_parts` (the snapshot is not complete, or has not come as far as the state), or the reader closes the connection: `refuse` (the state stays), `snapshot` (the reader forgets the feed and the cursor), `stale` (the feed is stale until the next connection). A token is `valid`, `ended`, or the reader must `ask` the introspection endpoint. The signatures of all tokens are valid, and their `exp` is not to be compared with the clock of the machine that runs the test. The limit of the age is 3000 milliseconds.',
  issuer: ISSUER,
  resource: RESOURCE,
  jwks: jwks(),
  messages,
  tokens,
  cases,
}
