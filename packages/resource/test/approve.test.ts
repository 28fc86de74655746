/** `resource.approve`: an API asks the wallet of the caller to sign one action. */
import { digestOfAction } from '@grantor/protocol/canonical-json'
import {
  type Approval,
  ApprovalError,
  type ApprovalRequest,
  createProtectedResource,
  type ProtectedResourceOptions,
  ResourceError,
} from '@grantor/resource'
import { test as base, describe, expect, vi } from 'vitest'
import { addApprovals, CREDENTIALS, type LittleApprovals, problem } from './little-approvals.ts'
import { type LittleIssuer, LOST, ok, startLittleIssuer, wallet } from './little-issuer.ts'
import { bearer } from './refusal.ts'

const RESOURCE = 'https://api.example.com/shop'
const ORDER: ApprovalRequest = { key: 'order-7', summary: 'Pay 20 USDC to Alice', action: { to: 'alice', amount: '20' } }

type Setup = { options?: Partial<ProtectedResourceOptions>; scopes?: string[]; claims?: Record<string, unknown> }

const test = base.extend<{
  issuer: LittleIssuer
  approvals: LittleApprovals
  approve: (request?: Partial<ApprovalRequest>, setup?: Setup) => Promise<Approval>
}>({
  // oxlint-disable-next-line eslint/no-empty-pattern -- Vitest requires a destructured first parameter
  issuer: async ({}, use) => {
    const issuer = await startLittleIssuer()
    await use(issuer)
    await issuer.close()
  },
  approvals: [async ({ issuer }, use) => use(addApprovals(issuer)), { auto: true }],
  approve: async ({ issuer }, use) =>
    use(async (request, { options = {}, scopes = ['pay'], claims = {} } = {}) => {
      const resource = createProtectedResource({
        issuer: issuer.url,
        resource: RESOURCE,
        introspection: CREDENTIALS,
        now: () => issuer.clock.now,
        ...options,
      })
      const presented = bearer(await issuer.sign({ aud: RESOURCE, scope: 'read pay', ...claims }))
      return resource.approve(await resource.check(presented, { scopes }), { ...ORDER, ...request })
    }),
})

async function errorOf(call: Promise<Approval>): Promise<ApprovalError> {
  const error = await call.then(
    () => new Error('the action was approved'),
    (thrown: unknown) => thrown,
  )
  if (error instanceof ApprovalError) return error
  throw error
}

test('The first call asks for an approval and is refused with 403, a link, the letters, the seconds that are left and those until the next call', async ({
  issuer,
  approvals,
  approve,
}) => {
  const error = await errorOf(approve())
  expect(error.problem).toEqual({
    type: 'urn:grantor:problem:approval_required',
    title: 'The user must sign this action.',
    status: 403,
    detail:
      'The user has not signed this action yet. Open the link, compare the letters, and repeat the call after the signature.',
    state: 'waiting',
    approval_uri: `${issuer.url}/approve/${approvals.byKey.get('order-7')?.id}`,
    user_code: 'WDJB-MJHT',
    expires_in: 600,
    interval: 5,
  })
  expect([error.reason, error.headers]).toEqual(['approval_waiting', { 'Cache-Control': 'no-store', 'Retry-After': '5' }])
  expect(approvals.used).toEqual([])
})

test('The authorization server receives the token, the scope, the key, the summary and the digest of the action, with the credentials of the API', async ({
  issuer,
  approvals,
  approve,
}) => {
  await errorOf(approve())
  const { token, ...values } = approvals.asked[0] ?? {}
  expect(values).toEqual({
    scope: 'pay',
    key: 'order-7',
    summary: 'Pay 20 USDC to Alice',
    digest: digestOfAction({ amount: '20', to: 'alice' }),
  })
  expect(token?.split('.')).toHaveLength(3)
  expect(issuer.requests.at(-1)).toMatchObject({
    path: '/oauth/approvals',
    authorization: `Basic ${btoa('api:secret')}`,
    contentType: expect.stringMatching('application/x-www-form-urlencoded'),
  })
})

test('After the signature, the repeated call uses the approval and returns its id and the receipt', async ({
  approvals,
  approve,
}) => {
  await errorOf(approve())
  approvals.settle('order-7', 'signed')
  expect(await approve()).toEqual({
    approvalId: approvals.byKey.get('order-7')?.id,
    receipt: { message: 'the signed text', signature: '0x01', address: wallet, chainId: 1 },
  })
})

test('An approval lets one call pass: the same key is then refused with the state used', async ({ approvals, approve }) => {
  await errorOf(approve())
  approvals.settle('order-7', 'signed')
  await approve()
  expect((await errorOf(approve())).problem).toMatchObject({ status: 403, state: 'used' })
})

test('If two calls race for one approval, exactly one of them passes, and the other is refused with the state used', async ({
  approvals,
  approve,
}) => {
  await errorOf(approve())
  approvals.settle('order-7', 'signed')
  const results = await Promise.allSettled([approve(), approve(), approve()])
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject({ state: 'used' })
})

test('With waitSeconds, the first call gets the link at once, and the next one waits for the signature and then passes', async ({
  approvals,
  approve,
}) => {
  expect(await errorOf(approve({ waitSeconds: 30 }))).toMatchObject({ state: 'waiting' })
  const waiting = approve({ waitSeconds: 30 })
  await expect.poll(() => approvals.asked.length).toBe(2)
  approvals.settle('order-7', 'signed')
  await expect(waiting).resolves.toHaveProperty('approvalId')
  expect(approvals.asked[0]).toMatchObject({ wait: '30' })
})

test('A call with waitSeconds gives the authorization server these seconds in addition to the usual 5', async ({
  approvals,
  approve,
}) => {
  await errorOf(approve())
  const timeout = vi.spyOn(AbortSignal, 'timeout')
  const waiting = approve({ waitSeconds: 30 })
  await expect.poll(() => approvals.asked.length).toBe(2)
  approvals.settle('order-7', 'signed')
  await waiting
  expect(timeout).toHaveBeenCalledWith(35_000)
  expect(timeout).toHaveBeenLastCalledWith(5_000)
  timeout.mockRestore()
})

describe('Settled approvals', () => {
  for (const state of ['declined', 'expired', 'used', 'ended'] as const)
    test(`An approval that is ${state} is refused with 403 and this state, without a link`, async ({ approvals, approve }) => {
      await errorOf(approve())
      approvals.settle('order-7', state)
      const error = await errorOf(approve())
      expect(error.problem).toEqual({
        type: 'urn:grantor:problem:approval_required',
        title: 'The user must sign this action.',
        status: 403,
        detail: error.description,
        state,
      })
      expect([error.reason, approvals.used]).toEqual([`approval_${state}`, []])
    })

  for (const state of ['declined', 'expired', 'ended'] as const)
    test(`An approval that becomes ${state} between the two requests is refused with 403 and this state`, async ({
      approvals,
      approve,
    }) => {
      await errorOf(approve())
      approvals.settle('order-7', 'signed')
      approvals.next.use.push(problem(403, 'not_approved', { state }))
      expect((await errorOf(approve())).problem).toMatchObject({ status: 403, state })
    })
})

describe('Refusals of the authorization server', () => {
  test('A key that was used with other values is refused with 409', async ({ approve }) => {
    await errorOf(approve())
    for (const other of [{ action: { to: 'mallory' } }, { summary: 'Pay 1 USDC to Alice' }])
      expect((await errorOf(approve(other))).problem).toMatchObject({
        type: 'urn:grantor:problem:approval_key_used',
        status: 409,
        title: expect.stringMatching('key'),
      })
  })

  test('Too many approvals are refused with 429 and the Retry-After of the authorization server', async ({
    approvals,
    approve,
  }) => {
    approvals.next.ask.push(problem(429, 'too_many_approvals', {}, { 'retry-after': '90' }))
    const error = await errorOf(approve())
    expect([error.status, error.headers['Retry-After'], error.problem.type]).toEqual([
      429,
      '90',
      'urn:grantor:problem:too_many_approvals',
    ])
  })

  test('If the user wants no more questions of the app, the call is refused with 403', async ({ approvals, approve }) => {
    approvals.next.ask.push(problem(403, 'approvals_declined'))
    const { status, problem: document } = await errorOf(approve())
    expect([status, document.type]).toEqual([403, 'urn:grantor:problem:approvals_declined'])
  })

  test('A token that ended after its check is refused with 401 invalid_token and a challenge (RFC 6750 §3.1)', async ({
    approvals,
    approve,
  }) => {
    approvals.next.ask.push(problem(403, 'token_inactive'))
    const error = await approve().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ResourceError)
    expect(error).toMatchObject({ status: 401, wwwAuthenticate: expect.stringContaining('error="invalid_token"') })
  })

  test('If the authorization server removed the scope, the call is refused with 403 insufficient_scope and a challenge', async ({
    approvals,
    approve,
  }) => {
    approvals.next.ask.push(problem(403, 'insufficient_scope'))
    await expect(approve()).rejects.toMatchObject({ status: 403, wwwAuthenticate: expect.stringContaining('scope="pay"') })
  })

  test.for([
    [401, 'invalid_client', 'issuer_answered_401'],
    [400, 'invalid_request', 'issuer_answered_400'],
    [403, 'not_yours', 'approval_not_yours'],
    [403, 'something_new', 'issuer_answered_403'],
    [429, 'rate_limited', 'issuer_answered_429'],
    [404, 'not_found', 'issuer_answered_404'],
    [503, 'temporarily_unavailable', 'issuer_answered_503'],
  ] as const)(
    'If the authorization server refuses the API with %i %s, the call gets 503',
    async ([status, error, reason], { approvals, approve }) => {
      approvals.next.ask.push(problem(status, error))
      expect(await errorOf(approve())).toMatchObject({ status: 503, reason, retryAfter: 5 })
    },
  )
})

describe('Lost and malformed answers', () => {
  test.for([LOST, 'lost after', problem(503, 'temporarily_unavailable'), problem(502, 'x')] as const)(
    'If the answer to the use is lost (%o), the use is sent once more with the same attempt, and the call passes',
    async (lost, { approvals, approve }) => {
      await errorOf(approve())
      approvals.settle('order-7', 'signed')
      approvals.next.use.push(lost)
      await expect(approve()).resolves.toHaveProperty('receipt')
      expect(approvals.used).toHaveLength(2)
      expect(approvals.used[0]).toEqual(approvals.used[1])
      expect(approvals.used[0]?.attempt).toMatch(/^[A-Za-z0-9._-]{1,64}$/)
    },
  )

  test('If the answer to the use is lost twice, the call gets 503, and the key is used', async ({ approvals, approve }) => {
    await errorOf(approve())
    approvals.settle('order-7', 'signed')
    approvals.next.use.push('lost after', LOST)
    expect(await errorOf(approve())).toMatchObject({ status: 503, reason: 'issuer_unreachable' })
    expect(approvals.used).toHaveLength(2)
    expect(await errorOf(approve())).toMatchObject({ status: 403, state: 'used' })
  })

  test('If another attempt used the approval, the call is refused with the state used', async ({ approvals, approve }) => {
    await errorOf(approve())
    approvals.settle('order-7', 'signed')
    approvals.next.use.push(problem(409, 'already_used'))
    expect(await errorOf(approve())).toMatchObject({ status: 403, state: 'used' })
    expect(approvals.used).toHaveLength(1)
  })

  test('If the authorization server does not answer, the call gets 503 and Retry-After', async ({ approvals, approve }) => {
    approvals.next.ask.push(LOST)
    const error = await errorOf(approve())
    expect(error.problem).toMatchObject({ type: 'urn:grantor:problem:temporarily_unavailable', status: 503 })
    expect([error.reason, error.headers['Retry-After']]).toEqual(['issuer_unreachable', '5'])
    expect(error.description).toMatch('signed')
  })

  test.for([
    [{ state: 'approved' }],
    [{ state: undefined }],
    [{ approval_id: 7 }],
    [{ approval_uri: 'javascript:alert(1)' }],
    [{ approval_uri: undefined }],
    [{ user_code: 7 }],
    [{ expires_in: '600' }],
    [{ interval: undefined }],
  ] as const)('A malformed answer with %o gets 503', async ([change], { issuer, approvals, approve }) => {
    await errorOf(approve())
    const good = {
      approval_id: 'a',
      approval_uri: `${issuer.url}/a`,
      user_code: 'A',
      state: 'waiting',
      expires_in: 1,
      interval: 5,
    }
    approvals.next.ask.push(ok({ ...good, ...change }))
    expect(await errorOf(approve())).toMatchObject({ status: 503, reason: 'approval_malformed' })
  })

  test.for([
    [{ state: 'signed' }],
    [{ approval_id: 'another' }],
    [{ receipt: undefined }],
    [{ receipt: { message: 'm', signature: '0x', address: '0x0000000000000000000000000000000000000001', chain_id: 1 } }],
    [{ receipt: { message: 'm', signature: '0x', address: wallet } }],
  ] as const)(
    'A malformed answer to the use, with %o, gets 503 and lets no call pass',
    async ([change], { approvals, approve }) => {
      await errorOf(approve())
      approvals.settle('order-7', 'signed')
      const receipt = { message: 'm', signature: '0x', address: wallet, chain_id: 1 }
      const good = { approval_id: approvals.byKey.get('order-7')?.id, state: 'used', used_at: 1, receipt }
      approvals.next.use.push(ok({ ...good, ...change }), ok({ ...good, ...change }))
      expect(await errorOf(approve())).toMatchObject({ status: 503, reason: 'approval_malformed' })
    },
  )
})

describe('The endpoint', () => {
  test('The endpoint is the member approvals_endpoint of the metadata', async ({ issuer, approvals, approve }) => {
    const { metadata } = issuer.answers
    issuer.answers.metadata = () =>
      ok({ ...(metadata().json as object), approvals_endpoint: `${issuer.url}/oauth/approvals?elsewhere` })
    expect((await errorOf(approve())).status).toBe(503)
    expect(issuer.requests.at(-1)?.path).toBe('/oauth/approvals?elsewhere')
    expect(approvals.asked).toEqual([])
  })

  test('The endpoints of an issuer with a path are below this path', async () => {
    const issuer = await startLittleIssuer('/tenant')
    const approvals = addApprovals(issuer)
    const resource = createProtectedResource({
      issuer: issuer.url,
      resource: RESOURCE,
      introspection: CREDENTIALS,
      now: () => issuer.clock.now,
    })
    const token = await resource.check(bearer(await issuer.sign({ aud: RESOURCE, scope: 'pay' })), { scopes: ['pay'] })
    await errorOf(resource.approve(token, ORDER))
    approvals.settle('order-7', 'signed')
    await resource.approve(token, ORDER)
    expect(issuer.requests.at(-1)?.path).toBe('/tenant/oauth/approvals/use')
    await issuer.close()
  })
})

describe('The scope of the approval', () => {
  test('The option scope names the scope of the approval', async ({ approvals, approve }) => {
    await errorOf(approve({ scope: 'pay' }, { scopes: [] }))
    expect(approvals.asked[0]).toMatchObject({ scope: 'pay' })
  })

  test('The only scope that resource.require checked is the scope of the approval', async ({ issuer, approvals }) => {
    const resource = createProtectedResource({
      issuer: issuer.url,
      resource: RESOURCE,
      introspection: CREDENTIALS,
      now: () => issuer.clock.now,
    })
    const token = await resource.check(bearer(await issuer.sign({ aud: RESOURCE, scope: 'pay' })))
    resource.require(token, { scopes: ['pay'] })
    await errorOf(resource.approve(token, ORDER))
    expect(approvals.asked[0]).toMatchObject({ scope: 'pay' })
  })

  test('If the call needs no scope, or several, approve throws a TypeError that asks for the option scope', async ({
    approvals,
    approve,
  }) => {
    await expect(approve({}, { scopes: [] })).rejects.toThrow(/^scope .*needs 0 scopes/)
    await expect(approve({}, { options: { scopes: ['read'] } })).rejects.toThrow(/^scope .*needs 2 scopes/)
    await expect(approve({}, { scopes: [] })).rejects.toBeInstanceOf(TypeError)
    expect(approvals.asked).toEqual([])
  })

  test('A scope that the token lacks is refused with 403 insufficient_scope, without a request', async ({
    approvals,
    approve,
  }) => {
    await expect(approve({ scope: 'admin' })).rejects.toMatchObject({
      status: 403,
      error: 'insufficient_scope',
      wwwAuthenticate: expect.stringContaining('admin'),
    })
    expect(approvals.asked).toEqual([])
  })

  test('A token without a user is refused, without a request', async ({ approvals, approve }) => {
    const client = 'c0ffee'
    const setup = { options: { clientTokens: true, check: 'local' as const }, claims: { sub: client, client_id: client } }
    await expect(approve({}, setup)).rejects.toMatchObject({ status: 401, reason: 'no_wallet' })
    expect(approvals.asked).toEqual([])
  })
})

describe('Faults of the program', () => {
  test.for([
    ['key', { key: '' }],
    ['key', { key: undefined as unknown as string }],
    ['key', { key: 'order 7' }],
    ['key', { key: 'x'.repeat(65) }],
    ['summary', { summary: '' }],
    ['summary', { summary: undefined as unknown as string }],
    ['summary', { summary: ' ' }],
    ['summary', { summary: 'Pay ' }],
    ['summary', { summary: ' Pay' }],
    ['summary', { summary: 'Pay  20' }],
    ['summary', { summary: "Alice's order" }],
    ['summary', { summary: 'Pay 20 €' }],
    ['summary', { summary: 'Pay\n20' }],
    ['summary', { summary: 'Pay "20"' }],
    ['summary', { summary: 'x'.repeat(121) }],
    ['waitSeconds', { waitSeconds: 31 }],
    ['waitSeconds', { waitSeconds: -1 }],
    ['waitSeconds', { waitSeconds: 1.5 }],
  ] as const)('An unusable %s is a TypeError and sends no request: %o', async ([name, change], { approvals, approve }) => {
    const error = await approve(change).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toHaveProperty('message', expect.stringMatching(new RegExp(`^${name} `)))
    expect(approvals.asked).toEqual([])
  })

  test.for(['x', 'x'.repeat(120), 'Pay 20 USDC to Alice & Bob (order #7): 50!'])(
    'The summary %s is accepted',
    async (summary, { approve }) => {
      expect((await errorOf(approve({ summary }))).status).toBe(403)
    },
  )

  test('An action that is no JSON is a TypeError', async ({ approvals, approve }) => {
    await expect(approve({ action: undefined })).rejects.toBeInstanceOf(TypeError)
    expect(approvals.asked).toEqual([])
  })

  test('Without credentials of the API, approve throws a TypeError that names the option introspection', async ({ issuer }) => {
    const resource = createProtectedResource({ issuer: issuer.url, resource: RESOURCE, now: () => issuer.clock.now })
    const token = await resource.check(bearer(await issuer.sign({ aud: RESOURCE, scope: 'pay' })), { scopes: ['pay'] })
    await expect(resource.approve(token, ORDER)).rejects.toThrow(/^introspection /)
  })

  test('approve throws if the resource did not check the request', async ({ issuer }) => {
    const resource = createProtectedResource({ issuer: issuer.url, resource: RESOURCE, introspection: CREDENTIALS })
    for (const call of [{}, undefined]) await expect(resource.approve(call, ORDER)).rejects.toThrow(/^approve needs /)
  })
})
