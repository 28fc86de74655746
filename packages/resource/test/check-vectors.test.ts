/** sdks/vectors.json, which the packages in other languages are tested against. `npx vitest run packages/resource/test/check-vectors -u` writes it. */
import { join } from 'node:path'
import { canonicalJson, digestOfAction } from '@grantor/protocol/canonical-json'
import { createProtectedResource, ResourceError } from '@grantor/resource'
import { expect, test } from 'vitest'
import {
  type Answer,
  type Answers,
  actions,
  CREDENTIALS,
  ISSUER,
  NOW,
  RESOURCE,
  usualAnswers,
  type Vector,
  vectors,
} from './check-vectors.ts'

type Sent = { path: string; authorization: string | null; form: Record<string, string> }

/** Answers the requests of one call, and keeps those with a body. */
function issuerWith({ approvals = [], use = [], draw = [], return: returns = [], ...answers }: Answers): {
  fetch: typeof fetch
  sent: Sent[]
} {
  const sent: Sent[] = []
  const [asks, uses, draws, given] = [[...approvals], [...use], [...draw], [...returns]]
  const answerTo: Record<string, () => Answer | undefined> = {
    '/.well-known/oauth-authorization-server': () => answers.metadata ?? usualAnswers.metadata,
    '/oauth/jwks': () => answers.jwks ?? usualAnswers.jwks,
    '/oauth/introspect': () => answers.introspection,
    '/oauth/approvals': () => asks.shift(),
    '/oauth/approvals/use': () => uses.shift(),
    '/oauth/draw': () => draws.shift(),
    '/oauth/draw/return': () => given.shift(),
  }
  const answerRequest = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { pathname: path } = new URL(input instanceof Request ? input.url : input)
    if (init?.body) {
      const authorization = new Headers(init.headers).get('authorization')
      sent.push({ path, authorization, form: Object.fromEntries(init.body as URLSearchParams) })
    }
    const answer = answerTo[path]?.()
    if (answer === undefined) throw new Error(`no answer for ${path}`)
    if (answer === 'lost') throw new TypeError('fetch failed')
    return new Response(JSON.stringify(answer.json), { status: answer.status, headers: answer.headers ?? {} })
  }
  return { fetch: answerRequest, sent }
}

/** What a package in another language must do too. A random attempt is written as `attempt`, the same one each time. */
async function outcomeOf({ options: { check = 'local', client_tokens, clock_tolerance, scopes } = {}, ...vector }: Vector) {
  const { fetch, sent } = issuerWith(vector.answers ?? {})
  const resource = createProtectedResource({
    issuer: ISSUER,
    resource: RESOURCE,
    introspection: CREDENTIALS,
    check,
    fetch,
    now: () => NOW,
    onRefusal: () => {},
    ...(client_tokens !== undefined && { clientTokens: client_tokens }),
    ...(clock_tolerance !== undefined && { clockTolerance: clock_tolerance }),
    ...(scopes && { scopes }),
  })
  const attempts = () => new Set(sent.flatMap(({ form }) => form.attempt ?? []))
  try {
    const result = await call(resource, vector)
    expect(attempts().size).toBeLessThan(2)
    return { decision: 'accepted', ...result, ...sentOf(sent) }
  } catch (error) {
    if (error instanceof TypeError) return { decision: 'unusable' }
    if (!(error instanceof ResourceError)) throw error
    const { status, headers, body } = resource.answerRefusal(error)
    expect(attempts().size).toBeLessThan(2)
    return { decision: error.reason, status, headers, body: JSON.parse(body) as unknown, ...sentOf(sent) }
  }
}

async function call(
  resource: ReturnType<typeof createProtectedResource>,
  { request, needs = {}, approve, draw, give_back: back }: Omit<Vector, 'options'>,
) {
  const { authorization, url } = request
  const { scopes, max_age: maxAge, acr_values: acrValues } = needs
  const token = await resource.check(
    { headers: { authorization }, url },
    { ...(scopes && { scopes }), ...(maxAge !== undefined && { maxAge }), ...(acrValues && { acrValues }) },
  )
  if (approve) {
    const { wait_seconds: waitSeconds = 0, ...action } = approve
    const { approvalId, receipt } = await resource.approve(token, { ...action, waitSeconds })
    const { message, signature, address, chainId } = receipt
    return { approval: { approval_id: approvalId, receipt: { message, signature, address, chain_id: chainId } } }
  }
  if (draw) {
    const { grantId, ...drawn } = await resource.draw(token, draw)
    return { draw: { grant_id: grantId, ...drawn } }
  }
  if (back) {
    const { grant_id: grantId, ...rest } = back
    return { given_back: await resource.giveBack({ grantId, ...rest }) }
  }
  const { wallet, clientId, scopes: granted, tokenId, issuedAt, expiresAt, authTime = null, acr = null, limit, left } = token
  return {
    token: {
      wallet,
      client_id: clientId,
      scopes: granted,
      token_id: tokenId,
      issued_at: issuedAt,
      expires_at: expiresAt,
      auth_time: authTime,
      acr,
      ...(limit && { limit, left }),
    },
  }
}

const sentOf = (sent: Sent[]) =>
  sent.length === 0
    ? {}
    : { sent: sent.map(({ form, ...rest }) => ({ ...rest, form: 'attempt' in form ? { ...form, attempt: 'attempt' } : form })) }

test.each(vectors)('$name', async (vector) => {
  expect((await outcomeOf(vector)).decision).toBe(vector.decision)
})

test('The vectors of the packages in other languages are what @grantor/resource does', async () => {
  const calls = await Promise.all(
    vectors.map(async (vector) => ({ ...vector, decision: undefined, outcome: await outcomeOf(vector) })),
  )
  const { metadata, metadataPath, metadataUrl } = createProtectedResource({
    issuer: ISSUER,
    resource: RESOURCE,
    scopes: ['notes.read'],
    name: 'Notes',
  })
  const file = {
    about:
      'Test vectors for packages that check tokens: packages/resource/test/check-vectors.ts. Each call is made to a new resource with `issuer`, `resource`, `credentials` and the `options` of the call, at the time `now`. `answers` are those of the authorization server that differ from the usual `answers`; `lost` is a connection that breaks. The members `approvals` and `use` are the answers to the requests to the approvals endpoint and its `/use`, in order. `draw` and `return` are those to the requests to `/oauth/draw` and its `/return`. With `approve`, the check is followed by this request for an approval, with `draw` by this draw, and with `give_back` by this return. `outcome.decision` is `accepted`, the reason of the refusal, or `unusable` for a fault of the program of the API. `status`, `headers` and `body` are the response of the API, and `sent` has the forms that the API sent. Each `attempt` is random, and the same within a call.',
    issuer: ISSUER,
    resource: RESOURCE,
    now: NOW,
    credentials: { client_id: CREDENTIALS.clientId, client_secret: CREDENTIALS.clientSecret },
    metadata: { scopes: ['notes.read'], name: 'Notes', path: metadataPath, url: metadataUrl, document: metadata },
    answers: usualAnswers,
    calls,
    actions: actions.map((action) => ({ action, canonical: canonicalJson(action), digest: digestOfAction(action) })),
  }
  await expect(linesOf(file)).toMatchFileSnapshot(join(import.meta.dirname, '../../../sdks/vectors.json'))
})

/** JSON with a line for each member of the file, and for each member of a list, so that a change of one vector changes one line. */
function linesOf(file: object): string {
  const members = Object.entries(file).map(([name, value]: [string, unknown]) => {
    const text = Array.isArray(value)
      ? `[\n${value.map((each) => `    ${JSON.stringify(each)}`).join(',\n')}\n  ]`
      : JSON.stringify(value)
    return `  ${JSON.stringify(name)}: ${text}`
  })
  return `{\n${members.join(',\n')}\n}\n`
}
