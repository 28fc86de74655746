import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Form, parseForm, queryOf } from '../../protocol/oauth/form.ts'
import { LIMIT_CHOICES, type LimitChoice } from '../../protocol/wallet/limit-choice.ts'
import { invalidRequest, tooLarge, unsupportedType } from './refusal.ts'

/**
 * The fields of the login form, parsed once from JSON or a plain form.
 *
 * Only these fields are read, so no other field of a body reaches the auth service, in particular not `client_ip`. A
 * field that is repeated, has another type, or is not UTF-8 is refused. An empty field counts as absent, except
 * `scope`.
 */
export type Posted = {
  loginChallenge: string
  address: string | undefined
  chainId: number | undefined
  /** Names with a space between them; '' if the user switched off every scope. */
  scope: string | undefined
  /** The numbers of the limit as they were typed; absent for those of the request. */
  limit: LimitChoice | undefined
  signature: string | undefined
  /** The response to a plain form is a page, the response to JSON is JSON. */
  from: 'json' | 'form'
}

/** 16 KiB, checked before anything is parsed. */
export const LARGEST_BODY = 16 * 1024
const LARGEST_SIGNATURE = 8 * 1024

/** Accepts JSON and forms; other types are refused with 415. */
export function readBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) =>
    readJson(body),
  )
  server.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, body: Buffer) => readForm(parseForm(body)),
  )
}

/** The body as `readBodies` parsed it. */
export function postedOf(request: FastifyRequest): Posted {
  if (request.body === undefined) throw unsupportedType()
  return request.body as Posted
}

/** The challenge in the URL of a page. */
export function challengeOf(request: FastifyRequest): string {
  const values = parseForm(queryOf(request.raw.url ?? '')).get('login_challenge') ?? []
  const [value] = values
  if (values.length > 1 || !value?.text) throw invalidRequest('login_challenge is missing, or there twice.')
  return value.text
}

export function requireAddress({ address }: Posted): string {
  if (address === undefined) throw invalidRequest('address is missing.')
  return address
}

/**
 * The signature, which is always required here. The auth service can be configured to accept a login without a
 * signature from a platform's own login server that has authenticated the wallet. This server has not, so it must
 * refuse such a request.
 */
export function requireSignature({ signature }: Posted): string {
  if (signature === undefined) throw invalidRequest('signature is missing.')
  if (signature.length > LARGEST_SIGNATURE) throw tooLarge()
  return signature
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function readJson(body: Buffer): Posted {
  let fields: unknown
  try {
    fields = JSON.parse(utf8.decode(body))
  } catch {
    throw invalidRequest('The body is not JSON in UTF-8.')
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    throw invalidRequest('The body is not a JSON object.')
  const { login_challenge, address, chain_id, scope, limit, signature } = fields as Record<string, unknown>
  if (chain_id !== undefined && typeof chain_id !== 'number') throw invalidRequest('chain_id is not a number.')
  const numbers = numbersOf(limit)
  return makePosted('json', {
    login_challenge: postedText('login_challenge', login_challenge),
    address: postedText('address', address),
    chain_id,
    scope: scope === '' ? '' : postedText('scope', scope),
    limit: limitOf((name) => postedText(`limit.${name}`, numbers[name])),
    signature: postedText('signature', signature),
  })
}

function readForm(form: Form): Posted {
  const chainId = single(form, 'chain_id')
  if (chainId !== undefined && !/^[0-9]{1,16}$/.test(chainId)) throw invalidRequest('chain_id is not a number.')
  return makePosted('form', {
    login_challenge: single(form, 'login_challenge'),
    address: single(form, 'address'),
    chain_id: chainId === undefined ? undefined : Number(chainId),
    scope: together(form, 'scope'),
    limit: limitOf((name) => single(form, `limit_${name}`)),
    signature: single(form, 'signature'),
  })
}

type LoginFields = Record<'login_challenge' | 'address' | 'scope' | 'signature', string | undefined> & {
  chain_id: number | undefined
  limit: LimitChoice | undefined
}

function makePosted(from: Posted['from'], fields: LoginFields): Posted {
  const { login_challenge: loginChallenge, chain_id: chainId } = fields
  if (loginChallenge === undefined) throw invalidRequest('login_challenge is missing.')
  if (chainId !== undefined && !(Number.isSafeInteger(chainId) && chainId > 0)) throw invalidRequest('chain_id is not a number.')
  const { address, scope, limit, signature } = fields
  return { from, loginChallenge, chainId, address, scope, limit, signature }
}

/** The numbers of a limit in JSON; none without a limit. */
function numbersOf(limit: unknown): Partial<Record<keyof LimitChoice, unknown>> {
  if (limit === undefined) return {}
  if (typeof limit !== 'object' || limit === null || Array.isArray(limit)) throw invalidRequest('limit is not an object.')
  return { uses: '', ...limit }
}

/** An empty number is not absent: the user must not sign the number of the request in its place. */
function limitOf(read: (name: keyof LimitChoice) => string | undefined): LimitChoice | undefined {
  const [uses, each, amount] = LIMIT_CHOICES.map(read)
  if (uses === undefined && each === undefined && amount === undefined) return undefined
  return { uses: uses ?? '', each, amount }
}

function postedText(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw invalidRequest(`${name} is not a text.`)
  // Pasted text often contains a line break.
  return value.trim() || undefined
}

function single(form: Form, name: string): string | undefined {
  const values = form.get(name) ?? []
  if (values.length > 1) throw invalidRequest(`${name} is there twice.`)
  const [value] = values
  if (value?.text === null) throw invalidRequest(`${name} is not UTF-8.`)
  return postedText(name, value?.text)
}

/**
 * The checked boxes of one name. The form adds an empty value, so that a form with no box checked differs from a form
 * without the field, which means all scopes.
 */
function together(form: Form, name: string): string | undefined {
  const values = form.get(name)
  if (!values) return undefined
  return values
    .map(({ text }) => {
      if (text === null) throw invalidRequest(`${name} is not UTF-8.`)
      return text.trim()
    })
    .filter((text) => text !== '')
    .join(' ')
}
