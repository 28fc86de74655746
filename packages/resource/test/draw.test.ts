/** `resource.draw` and `resource.giveBack`: an API counts calls in the limit that a user signed. */
import {
  createProtectedResource,
  type Draw,
  type DrawRequest,
  type GiveBackRequest,
  type ProtectedResource,
  type ProtectedResourceOptions,
  ResourceError,
} from '@grantor/resource'
import { test as base, describe, expect, vi } from 'vitest'
import { CREDENTIALS, problem } from './little-approvals.ts'
import { addDraws, GRANT, LIMIT, type LittleDraws } from './little-draws.ts'
import { type LittleIssuer, LOST, ok, startLittleIssuer } from './little-issuer.ts'
import { bearer } from './refusal.ts'

const RESOURCE = 'https://api.example.com/pictures'
const USE: DrawRequest = { key: 'picture-7', amount: 4000 }
const RETURN: GiveBackRequest = { grantId: GRANT, key: 'picture-7', amount: 4000 }

type Setup = { options?: Partial<ProtectedResourceOptions>; scopes?: string[]; claims?: Record<string, unknown> }

const test = base.extend<{
  issuer: LittleIssuer
  draws: LittleDraws
  resource: ProtectedResource
  draw: (request?: Partial<DrawRequest>, setup?: Setup) => Promise<Draw>
}>({
  // oxlint-disable-next-line eslint/no-empty-pattern -- Vitest requires a destructured first parameter
  issuer: async ({}, use) => {
    const issuer = await startLittleIssuer()
    await use(issuer)
    await issuer.close()
  },
  draws: [async ({ issuer }, use) => use(addDraws(issuer)), { auto: true }],
  resource: async ({ issuer }, use) => use(resourceOf(issuer)),
  draw: async ({ issuer }, use) =>
    use(async (request, { options, scopes = ['enhancement'], claims } = {}) => {
      const resource = resourceOf(issuer, options)
      const presented = bearer(await issuer.sign({ aud: RESOURCE, scope: 'read enhancement', grant_id: GRANT, ...claims }))
      return resource.draw(await resource.check(presented, { scopes }), { ...USE, ...request })
    }),
})

function resourceOf(issuer: LittleIssuer, options: Partial<ProtectedResourceOptions> = {}): ProtectedResource {
  const usual = { issuer: issuer.url, resource: RESOURCE, introspection: CREDENTIALS, now: () => issuer.clock.now }
  return createProtectedResource({ ...usual, ...options })
}

async function errorOf(call: Promise<unknown>): Promise<ResourceError> {
  const error = await call.then(
    () => new Error('the call passed'),
    (thrown: unknown) => thrown,
  )
  if (error instanceof ResourceError) return error
  throw error
}

test('A draw returns its number, its grant, what is left, and the end of the period', async ({ draws, draw }) => {
  expect(await draw()).toEqual({ grantId: GRANT, draw: 1, left: { uses: 1, amount: 6000 }, until: draws.until })
  expect(await draw({ key: 'picture-8', amount: 5000 })).toMatchObject({ draw: 2, left: { uses: 0, amount: 1000 } })
})

test('A draw from a limit without amount and period sends no amount, and returns the uses only', async ({ issuer, draw }) => {
  const draws = addDraws(issuer, { scope: 'enhancement', uses: 2 })
  draws.until = undefined
  const drawn = await draw({ amount: undefined } as unknown as Partial<DrawRequest>)
  expect(drawn).toStrictEqual({ grantId: GRANT, draw: 1, left: { uses: 1 } })
  expect(draws.asked[0]).not.toHaveProperty('amount')
})

test('The authorization server receives the token, the key and the amount as a form, with the credentials of the API', async ({
  issuer,
  draws,
  draw,
}) => {
  await draw()
  expect(draws.asked).toEqual([{ token: expect.stringMatching(/^[^.]+\.[^.]+\.[^.]+$/), key: 'picture-7', amount: '4000' }])
  expect(issuer.requests.at(-1)).toMatchObject({
    path: '/oauth/draw',
    authorization: `Basic ${btoa('api:secret')}`,
    contentType: expect.stringMatching('application/x-www-form-urlencoded'),
  })
})

test('The endpoints of an issuer with a path are below this path', async () => {
  const issuer = await startLittleIssuer('/tenant')
  addDraws(issuer)
  const resource = resourceOf(issuer)
  const token = await resource.check(bearer(await issuer.sign({ aud: RESOURCE, grant_id: GRANT })))
  await resource.draw(token, USE)
  expect(issuer.requests.at(-1)?.path).toBe('/tenant/oauth/draw')
  await resource.giveBack(RETURN)
  expect(issuer.requests.at(-1)?.path).toBe('/tenant/oauth/draw/return')
  await issuer.close()
})

test('A repeated draw with the same key and amount draws nothing, and returns the values of the first one', async ({
  draws,
  draw,
}) => {
  const first = await draw()
  expect(await draw()).toEqual(first)
  expect(draws.left).toEqual({ uses: 1, amount: 6000 })
})

test('If calls race for the last use, one of them passes, and the others are refused with 403', async ({ draws, draw }) => {
  draws.left.uses = 1
  const results = await Promise.allSettled(['a', 'b', 'c'].map((key) => draw({ key })))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const result of results)
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ status: 403, reason: 'uses_exceeded' })
})

describe('A limit that is used up', () => {
  test.for([
    ['limit_not_signed', 'not signed a limit'],
    ['uses_exceeded', 'no use is left'],
    ['amount_exceeded', 'less is left than this call costs'],
    ['each_exceeded', 'more than one use may cost'],
  ] as const)(
    '%s is refused with 403 insufficient_scope, the scope of the limit and plain words (RFC 6750 §3.1)',
    async ([reason, words], { draws, draw }) => {
      draws.next.draw.push(problem(403, reason, { scope: 'enhancement' }))
      const error = await errorOf(draw())
      expect(error).toMatchObject({ status: 403, error: 'insufficient_scope', reason, scope: 'enhancement' })
      expect(error.description).toContain(words)
      expect(error.wwwAuthenticate).toMatch(/^Bearer .*error="insufficient_scope", .*scope="enhancement"/)
    },
  )

  test('The challenge has the scopes that the call needs, and the scope of the limit', async ({ draws, draw }) => {
    draws.next.draw.push(problem(403, 'uses_exceeded', { scope: 'enhancement' }))
    expect((await errorOf(draw({}, { scopes: ['read'] }))).scope).toBe('read enhancement')
    draws.next.draw.push(problem(403, 'uses_exceeded', { scope: 'enhancement' }))
    expect((await errorOf(draw({}, { scopes: [] }))).scope).toBe('enhancement')
  })

  test('A refused draw leaves its key free, and a smaller one passes', async ({ draw }) => {
    expect((await errorOf(draw({ amount: 5001 }))).reason).toBe('each_exceeded')
    await expect(draw({ amount: 5000 })).resolves.toMatchObject({ draw: 1 })
  })

  test.for([[undefined], [7], [''], ['a b'], ['a"b']])(
    'A refusal whose scope is %o gets 503, because no client could ask for this scope',
    async ([scope], { draws, draw }) => {
      draws.next.draw.push(problem(403, 'uses_exceeded', { scope }))
      expect(await errorOf(draw())).toMatchObject({ status: 503, reason: 'draw_malformed' })
    },
  )
})

describe('Other refusals', () => {
  test('A token that ended after its check is refused with 401 invalid_token and a challenge (RFC 6750 §3.1)', async ({
    draws,
    draw,
  }) => {
    draws.next.draw.push(problem(403, 'token_inactive'))
    expect(await errorOf(draw())).toMatchObject({
      status: 401,
      error: 'invalid_token',
      reason: 'inactive',
      wwwAuthenticate: expect.stringContaining('error="invalid_token"'),
    })
  })

  test('A key that was used for another amount is refused with 409, without a challenge', async ({ draw }) => {
    await draw()
    expect(await errorOf(draw({ amount: 1 }))).toMatchObject({
      status: 409,
      reason: 'draw_key_used',
      wwwAuthenticate: undefined,
    })
  })

  test('A token without a user is refused with 401, without a request', async ({ draws, draw }) => {
    const setup = { options: { clientTokens: true, check: 'local' as const }, claims: { sub: 'app', client_id: 'app' } }
    expect(await errorOf(draw({}, setup))).toMatchObject({ status: 401, reason: 'no_wallet' })
    expect(draws.asked).toEqual([])
  })

  test.for([
    [403, 'not_yours', 'draw_not_yours', /resource server of the audience/],
    [403, 'no_limit', 'draw_no_limit', /has a limit at this API/],
    [400, 'invalid_request', 'draw_amount_unfit', /has an amount and the draw has none/],
  ] as const)(
    'The answer %i %s is a fault of the API: 500 without a challenge, and clear words for the log',
    async ([status, code, reason, words], { draws, draw }) => {
      draws.next.draw.push(problem(status, code))
      const error = await errorOf(draw())
      expect(error).toMatchObject({ status: 500, error: 'server_error', reason, wwwAuthenticate: undefined })
      expect(error.cause).toHaveProperty('message', expect.stringMatching(words))
      expect(error.description).not.toMatch(words)
    },
  )

  test('Without onRefusal, a fault of the API is written to the standard error output, without the token', async ({
    issuer,
    draws,
    resource,
  }) => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => {})
    draws.next.draw.push(problem(403, 'no_limit'))
    const text = await issuer.sign({ aud: RESOURCE, grant_id: GRANT })
    const error = await errorOf(resource.draw(await resource.check(bearer(text)), USE))
    expect(resource.answerRefusal(error).status).toBe(500)
    expect(written.mock.calls).toEqual([[expect.stringMatching(/^@grantor\/resource: draw_no_limit: draw: no scope/)]])
    expect(JSON.stringify(written.mock.calls)).not.toContain(text)
    written.mockRestore()
  })

  test.for([
    [401, 'invalid_client', 'issuer_answered_401'],
    [403, 'something_new', 'issuer_answered_403'],
    [429, 'temporarily_unavailable', 'issuer_answered_429'],
    [404, 'not_found', 'issuer_answered_404'],
    [302, 'elsewhere', 'issuer_answered_302'],
  ] as const)('The answer %i %s gets 503, and is not repeated', async ([status, code, reason], { draws, draw }) => {
    draws.next.draw.push(problem(status, code, {}, { 'retry-after': '17' }))
    expect(await errorOf(draw())).toMatchObject({ status: 503, reason, retryAfter: 17 })
    expect(draws.asked).toHaveLength(1)
  })
})

describe('Lost and malformed answers', () => {
  test.for([LOST, 'lost after', problem(503, 'temporarily_unavailable'), problem(502, 'x'), ok('[]'), ok('{')] as const)(
    'If the answer is lost (%o), the same request is sent once more, and the call is counted once',
    async (lost, { draws, draw }) => {
      draws.next.draw.push(lost)
      await expect(draw()).resolves.toMatchObject({ draw: 1, left: { uses: 1, amount: 6000 } })
      expect(draws.asked).toHaveLength(2)
      expect(draws.asked[0]).toEqual(draws.asked[1])
      expect(draws.left.uses).toBe(1)
    },
  )

  test.for([
    [LOST, 'issuer_unreachable'],
    ['lost after', 'issuer_unreachable'],
    [problem(503, 'temporarily_unavailable'), 'issuer_answered_503'],
  ] as const)('If the answer is lost twice (%o), the call gets 503', async ([lost, reason], { draws, draw }) => {
    draws.next.draw.push(lost, lost)
    const error = await errorOf(draw())
    expect(error).toMatchObject({ status: 503, reason, retryAfter: 5, wwwAuthenticate: undefined })
    expect(error.description).toMatch('not known whether this call was counted')
    expect(draws.asked).toHaveLength(2)
  })

  test('Each of the two requests has 5 seconds', async ({ draws, draw }) => {
    const timeout = vi.spyOn(AbortSignal, 'timeout')
    draws.next.draw.push(LOST)
    await draw()
    expect(timeout.mock.calls.slice(-2)).toEqual([[5_000], [5_000]])
    timeout.mockRestore()
  })

  test.for([
    [{ draw: undefined }],
    [{ draw: 0 }],
    [{ draw: 1.5 }],
    [{ draw: '1' }],
    [{ left: undefined }],
    [{ left: [] }],
    [{ left: { uses: 1 } }],
    [{ left: { uses: -1, amount: 6000 } }],
    [{ left: { uses: 10_001, amount: 6000 } }],
    [{ left: { uses: '1', amount: 6000 } }],
    [{ left: { uses: 1, amount: -1 } }],
    [{ left: { uses: 1, amount: 0.5 } }],
    [{ left: { uses: 1, amount: 1e15 } }],
    [{ until: 'tomorrow' }],
    [{ until: null }],
  ] as const)('A malformed answer with %o gets 503, and is not repeated', async ([change], { draws, draw }) => {
    draws.next.draw.push(ok({ draw: 1, left: { uses: 1, amount: 6000 }, until: 1_800_604_800, ...change }))
    expect(await errorOf(draw())).toMatchObject({ status: 503, reason: 'draw_malformed' })
    expect(draws.asked).toHaveLength(1)
  })

  test('An answer with an amount to a draw without one gets 503', async ({ draws, issuer, resource }) => {
    draws.next.draw.push(ok({ draw: 1, left: { uses: 1, amount: 6000 } }))
    const token = await resource.check(bearer(await issuer.sign({ aud: RESOURCE, grant_id: GRANT })))
    expect(await errorOf(resource.draw(token, { key: 'k' }))).toMatchObject({ status: 503, reason: 'draw_malformed' })
  })
})

describe('Giving back', () => {
  test('The whole amount gives back the use, and a part does not', async ({ draws, draw, resource }) => {
    const { grantId } = await draw()
    await draw({ key: 'picture-8' })
    expect(await resource.giveBack({ ...RETURN, grantId })).toEqual({ draw: 1, returned: 4000 })
    expect(await resource.giveBack({ ...RETURN, grantId, key: 'picture-8', amount: 1000 })).toEqual({ draw: 2, returned: 1000 })
    expect(draws.left).toEqual({ uses: 1, amount: 7000 })
    expect(draws.returned[0]).toEqual({ grant_id: GRANT, key: 'picture-7', amount: '4000' })
  })

  test('A use without an amount is given back without one', async ({ issuer, resource }) => {
    const draws = addDraws(issuer, { scope: 'enhancement', uses: 2 })
    const token = await resource.check(bearer(await issuer.sign({ aud: RESOURCE, grant_id: GRANT })))
    await resource.draw(token, { key: 'k' })
    expect(await resource.giveBack({ grantId: GRANT, key: 'k' })).toEqual({ draw: 1, returned: 0 })
    expect([draws.left, draws.returned]).toEqual([{ uses: 2 }, [{ grant_id: GRANT, key: 'k' }]])
  })

  test('If the answer is lost, the same request is sent once more, and the amount is given back once', async ({
    draws,
    draw,
    resource,
  }) => {
    await draw()
    draws.next.giveBack.push('lost after')
    expect(await resource.giveBack(RETURN)).toEqual({ draw: 1, returned: 4000 })
    expect([draws.returned.length, draws.left]).toEqual([2, { uses: 2, amount: 10_000 }])
  })

  test('If the answer is lost twice, giveBack throws a ResourceError 503, and a later repeat succeeds', async ({
    draws,
    draw,
    resource,
  }) => {
    await draw()
    draws.next.giveBack.push('lost after', LOST)
    expect(await errorOf(resource.giveBack(RETURN))).toMatchObject({ status: 503, reason: 'issuer_unreachable' })
    expect(await resource.giveBack(RETURN)).toEqual({ draw: 1, returned: 4000 })
  })

  test('An unknown draw, too much, and a second return of another amount are faults of the API (500)', async ({
    draw,
    resource,
  }) => {
    await draw()
    const reasonOf = async (change: Partial<GiveBackRequest>) => {
      const { status, reason } = await errorOf(resource.giveBack({ ...RETURN, ...change }))
      return [status, reason]
    }
    expect(await reasonOf({ key: 'another' })).toEqual([500, 'return_unknown'])
    expect(await reasonOf({ amount: 4001 })).toEqual([500, 'return_above_draw'])
    await resource.giveBack(RETURN)
    expect(await reasonOf({ amount: 1 })).toEqual([500, 'return_differs'])
  })

  test.for([
    [problem(401, 'invalid_client'), 'issuer_answered_401'],
    [problem(403, 'something_new'), 'issuer_answered_403'],
    [ok({ draw: 1 }), 'draw_malformed'],
    [ok({ draw: 1, returned: 1 }), 'draw_malformed'],
    [ok({ draw: '1', returned: 4000 }), 'draw_malformed'],
  ] as const)('The answer %o gets 503', async ([answer, reason], { draws, resource }) => {
    draws.next.giveBack.push(answer)
    expect(await errorOf(resource.giveBack(RETURN))).toMatchObject({ status: 503, reason })
  })
})

describe('Faults of the program', () => {
  const unusable: [string, Record<string, unknown>][] = [
    ['key', { key: '' }],
    ['key', { key: undefined }],
    ['key', { key: 'picture 7' }],
    ['key', { key: 'x'.repeat(65) }],
    ...[0, -1, 0.5, 1e15, Number.NaN, '4000', null].map((amount): [string, Record<string, unknown>] => ['amount', { amount }]),
  ]
  test.for(unusable)(
    'An unusable %s is a TypeError and sends no request: %o',
    async ([name, change], { draws, draw, resource }) => {
      for (const call of [() => draw(change), () => resource.giveBack({ ...RETURN, ...change })]) {
        const error = await call().catch((thrown: unknown) => thrown)
        expect(error).toBeInstanceOf(TypeError)
        expect(error).toHaveProperty('message', expect.stringMatching(new RegExp(`^${name} `)))
      }
      expect([draws.asked, draws.returned]).toEqual([[], []])
    },
  )

  test('An unusable grantId is a TypeError', async ({ resource }) => {
    for (const grantId of ['', 'x', undefined as unknown as string, GRANT.toUpperCase()])
      await expect(resource.giveBack({ ...RETURN, grantId })).rejects.toThrow(/^grantId /)
  })

  test('The largest amount is sent exactly', async ({ draws, draw }) => {
    await errorOf(draw({ amount: 999_999_999_999_999 }))
    expect(draws.asked[0]).toMatchObject({ amount: '999999999999999' })
  })

  test('Without credentials of the API, draw and giveBack throw a TypeError that names the option introspection', async ({
    issuer,
  }) => {
    const resource = createProtectedResource({ issuer: issuer.url, resource: RESOURCE, now: () => issuer.clock.now })
    const token = await resource.check(bearer(await issuer.sign({ aud: RESOURCE })))
    await expect(resource.draw(token, USE)).rejects.toThrow(/^introspection /)
    await expect(resource.giveBack(RETURN)).rejects.toThrow(/^introspection /)
  })

  test('draw throws if the resource did not check the request', async ({ resource }) => {
    for (const call of [{}, undefined]) await expect(resource.draw(call, USE)).rejects.toThrow(/^draw needs /)
  })
})

describe('The limit of an introspected token', () => {
  const LEFT = { uses: 1, amount: 6000, until: 1_800_604_800 }
  const introspected = async (issuer: LittleIssuer, members: object, options: Partial<ProtectedResourceOptions> = {}) => {
    issuer.answers.introspect = (token) => ok({ ...issuer.active(token), ...members })
    const { limit, left } = await resourceOf(issuer, options).check(bearer(await issuer.sign({ aud: RESOURCE })))
    return { limit, left }
  }

  test('An introspected token has the limit that the user signed, and what is left', async ({ issuer }) => {
    expect(await introspected(issuer, { limit: LIMIT, left: LEFT })).toEqual({ limit: LIMIT, left: LEFT })
    const uses = { limit: { scope: 'enhancement', uses: 20 }, left: { uses: 0 } }
    expect(await introspected(issuer, uses)).toEqual(uses)
  })

  test('A token without a limit, and a token that is not introspected, has neither', async ({ issuer }) => {
    expect(await introspected(issuer, {})).toEqual({ limit: undefined, left: undefined })
    expect(await introspected(issuer, { limit: LIMIT, left: LEFT }, { check: 'local' })).toEqual({})
  })

  test.for([
    [{ limit: undefined }],
    [{ left: undefined }],
    [{ limit: { ...LIMIT, per: 'month' } }],
    [{ limit: { ...LIMIT, uses: 0 } }],
    [{ limit: { ...LIMIT, scope: 'a b' } }],
    [{ limit: { ...LIMIT, unit: undefined } }],
    [{ limit: { ...LIMIT, unit: 'neso' } }],
    [{ limit: { ...LIMIT, decimals: 7 } }],
    [{ limit: { ...LIMIT, each: 10_001 } }],
    [{ left: { uses: 1.5 } }],
    [{ left: { ...LEFT, until: '' } }],
  ])('A limit that cannot be read is left out, and the token stays valid: %o', async ([change], { issuer }) => {
    expect(await introspected(issuer, { limit: LIMIT, left: LEFT, ...change })).toEqual({ limit: undefined, left: undefined })
  })
})
