/** Arbitrary requests that are nearly valid: a valid request with a few parameters and headers replaced by arbitrary values. */
import fc from 'fast-check'

export type Endpoint = {
  method: 'GET' | 'POST' | 'OPTIONS' | 'HEAD'
  path: string
  /** the parameters of a valid request, including every parameter of the endpoint */
  parameters: Record<string, string>
  /** its body is JSON */
  json?: true
}

export type AnyRequest = { method: Endpoint['method']; url: string; headers: Record<string, string>; payload?: Buffer }

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')
const anyBytes = fc.uint8Array({ maxLength: 80 }).map(latin1)
const headerByte = fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff }), fc.constant(9))
/** A header value: any bytes except control characters (RFC 9110 §5.5). */
const headerBytes = fc.array(headerByte, { maxLength: 60 }).map((bytes) => latin1(Uint8Array.from(bytes)))

const HOSTILE = [
  '',
  '__proto__',
  'constructor',
  '\0',
  '%',
  '../',
  'null',
  '{}',
  '[]',
  '-1',
  '1e999',
  '‮',
  ' ',
  '=',
  '&',
  'x'.repeat(9000),
]
const strangeText = fc.oneof(
  anyBytes,
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(...HOSTILE),
)

/** Another value: an arbitrary text, a genuine value of another parameter, or the present value with a change in it. */
type Other = { kind: 'strange' | 'genuine' | 'changed'; text: string; at: number }
const other: fc.Arbitrary<Other> = fc.record({
  kind: fc.constantFrom('strange', 'genuine', 'changed'),
  text: strangeText,
  at: fc.nat(10_000),
})

function otherThan(was: string, { kind, text, at }: Other, genuine: readonly string[]): string {
  if (kind === 'strange') return text
  if (kind === 'genuine') return genuine[at % genuine.length] ?? ''
  const cut = at % (was.length + 1)
  return was.slice(0, cut) + text + was.slice(cut + (at % 3))
}

const HEADERS = [
  'accept',
  'accept-language',
  'accept-version',
  'access-control-request-headers',
  'access-control-request-method',
  'authorization',
  'content-encoding',
  'content-type',
  'cookie',
  'dpop',
  'forwarded',
  'host',
  'if-none-match',
  'origin',
  'range',
  'referer',
  'sec-fetch-site',
  'te',
  'upgrade',
  'user-agent',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-http-method-override',
  'x-request-id',
]

const change = fc.record({
  parameter: fc.nat(100),
  how: fc.constantFrom('replace', 'replace', 'replace', 'drop', 'repeat', 'rename'),
  other: other,
  json: fc.option(fc.oneof(fc.jsonValue(), fc.constant({ toString: 1, valueOf: 2 }), fc.constant({ __proto__: null })), {
    freq: 3,
  }),
})
type Change = { parameter: number; how: string; other: Other; json: unknown }

const sketch = fc.record({
  changes: fc.array(change, { maxLength: 3 }),
  headers: fc.array(fc.tuple(fc.constantFrom(...HEADERS), fc.oneof(headerBytes, other)), { maxLength: 2 }),
  authorized: fc.constantFrom(true, true, true, false),
  session: fc.boolean(),
  /** percent-encoded, or as raw bytes */
  raw: fc.boolean(),
})

type GoodHeaders = { authorization?: string | undefined; cookie: string }
type Sketch = typeof sketch extends fc.Arbitrary<infer Made> ? Made : never

/** Arbitrary requests to one endpoint. `genuine`: values that are valid elsewhere. `headers`: the headers of a valid request. */
export function anyRequestTo(endpoint: Endpoint, genuine: readonly string[], headers: GoodHeaders): fc.Arbitrary<AnyRequest> {
  return sketch.map((made) => requestFrom(made, endpoint, genuine, headers))
}

/** The valid request without a change. */
export function goodRequestTo(endpoint: Endpoint, headers: GoodHeaders): AnyRequest {
  return requestFrom({ changes: [], headers: [], authorized: true, session: true, raw: false }, endpoint, [], headers)
}

function requestFrom(made: Sketch, endpoint: Endpoint, genuine: readonly string[], headers: GoodHeaders): AnyRequest {
  const pairs = pairsOf(endpoint.parameters, made.changes, genuine)
  const encode = (text: string): string =>
    made.raw && endpoint.method === 'POST' ? text : encodeURIComponent(text.toWellFormed())
  const form = pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
  const type = endpoint.json ? 'application/json' : 'application/x-www-form-urlencoded'
  const own: Record<string, string> = {
    ...(endpoint.method === 'POST' ? { 'content-type': type } : {}),
    ...(made.authorized && headers.authorization ? { authorization: headers.authorization } : {}),
    ...(made.session ? { cookie: headers.cookie } : {}),
  }
  const strange = made.headers.map(([name, value]) => [
    name,
    typeof value === 'string' ? value : onTheWire(otherThan(own[name] ?? '', value, genuine)),
  ])
  const payload = endpoint.json ? JSON.stringify(fieldsOf(endpoint.parameters, pairs, made.changes)) : form
  return {
    method: endpoint.method,
    url: endpoint.method === 'POST' || form === '' ? endpoint.path : `${endpoint.path}?${form}`,
    headers: { ...own, ...(Object.fromEntries(strange) as Record<string, string>) },
    ...(endpoint.method === 'POST' ? { payload: Buffer.from(payload, endpoint.json ? 'utf8' : 'latin1') } : {}),
  }
}

function pairsOf(good: Record<string, string>, changes: readonly Change[], genuine: readonly string[]): [string, string][] {
  const pairs = Object.entries(good)
  for (const { parameter, how, other } of changes) {
    const at = parameter % Math.max(1, pairs.length)
    const [name = '', was = ''] = pairs[at] ?? []
    const value = otherThan(was, other, genuine)
    if (how === 'replace') pairs[at] = [name, value]
    if (how === 'drop') pairs.splice(at, 1)
    if (how === 'repeat') pairs.push([name, value])
    if (how === 'rename') pairs[at] = [value, was]
  }
  return pairs
}

/** JSON fields: the same changes, and members of any type. */
function fieldsOf(good: Record<string, string>, pairs: [string, string][], changes: readonly Change[]): unknown {
  const fields: Record<string, unknown> = { chain_id: 1, ...Object.fromEntries(pairs) }
  const names = Object.keys({ ...good, chain_id: 1 })
  for (const { json, parameter } of changes) if (json !== null) fields[names[parameter % names.length] ?? ''] = json
  return fields
}

function onTheWire(text: string): string {
  return latin1(Buffer.from(text, 'utf8')).replace(/[^\t\x20-\x7e\x80-\xff]/g, '')
}
