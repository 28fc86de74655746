/** Calls operations of the admin API inside of the process, as the operator who is signed in. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem, type ProblemCode } from '../problem.ts'
import { runAs, type SignedInOperator } from '../signed-in-operator.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Options = { body?: unknown; ifMatch?: string | undefined; idempotencyKey?: string }

export type ApiAnswer<Body> = { body: Body; etag: string }
/** Throws `Problem` with what the operation refused. */
export type CallApi = <Body = unknown>(method: Method, path: string, options?: Options) => Promise<ApiAnswer<Body>>

export function createCallApi(server: FastifyInstance, visit: FastifyRequest, visitor: SignedInOperator): CallApi {
  const call = async (
    method: Method,
    path: string,
    { body, ifMatch, idempotencyKey }: Options = {},
  ): Promise<ApiAnswer<unknown>> => {
    const answer = await runAs(visitor, async () =>
      server.inject({
        method,
        url: path,
        // The line of the audit trail has the network of the operator's browser.
        remoteAddress: visit.ip,
        headers: {
          ...(ifMatch !== undefined && ifMatch !== '' && { 'if-match': ifMatch }),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { payload: JSON.stringify(body) }),
      }),
    )
    const given: unknown = answer.body === '' ? undefined : answer.json()
    if (answer.statusCode >= 400) {
      const { code, detail, faults } = given as { code: ProblemCode; detail: string; faults?: string[] }
      throw new Problem(code, detail, faults)
    }
    return { body: given, etag: answer.headers.etag ?? '' }
  }
  // The schemas of the operations describe the bodies, and a test compares both.
  return call as CallApi
}

/** The query of a path; members without a value are left out. */
export function queryOf(members: Record<string, string | number | boolean | undefined>): string {
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== '')
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()}`
}
