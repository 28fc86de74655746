import { DPOP_ALGORITHMS } from '@grantor/protocol/dpop'
import type { AccessToken } from './access-token.ts'
import type { Approve } from './approval.ts'
import { ApprovalError } from './approval-error.ts'
import type { DrawFromLimit, GiveBack } from './draw.ts'
import { isSecureUrl } from './issuer-metadata.ts'
import { type PresentedRequest, pathOf } from './presented-token.ts'
import { ResourceError } from './resource-error.ts'
import { createTokenChecks, type Needs, type RequireOfToken, type TokenCheck, type TokenCheckOptions } from './token-check.ts'

export interface ProtectedResourceOptions extends Omit<TokenCheckOptions, 'audience' | 'metadataUrl'> {
  /**
   * The resource identifier (RFC 9728 §1.2): the URL under which clients call this API, and the `aud` of its tokens.
   * https, or http on this machine; without query and fragment.
   */
  resource: string
  /** The scopes that a client may need for this API (RFC 9728 §2); default: `scopes`. */
  scopesSupported?: readonly string[]
  /** The API's name for people (RFC 9728 §2). */
  name?: string
  /** The address of a page for developers, such as `https://api.example.com/docs` (RFC 9728 §2). */
  documentation?: string
  /**
   * Called with each refusal, for the API's log: `reason` names the check that failed. Without this function, a fault of the API (500) is written to the
   * standard error output.
   */
  onRefusal?: (error: ResourceError) => void
}

/** The members of RFC 9728 §2 that this resource has. */
export interface ProtectedResourceMetadata {
  resource: string
  authorization_servers: [string]
  scopes_supported?: readonly string[]
  bearer_methods_supported?: ['header'] | []
  resource_name?: string
  resource_documentation?: string
  dpop_signing_alg_values_supported?: readonly string[]
  dpop_bound_access_tokens_required?: true
}

/** A whole response. */
export interface Answer {
  status: number
  headers: Readonly<Record<string, string>>
  body: string
}

/** One API: the check of its tokens, and the metadata document. The adapters for frameworks take this object. */
export interface ProtectedResource {
  metadata: ProtectedResourceMetadata
  /** The address of the metadata document, as in each challenge. */
  metadataUrl: string
  /** The path of the metadata document: `/.well-known/oauth-protected-resource/mcp` for `https://api.example.com/mcp`. */
  metadataPath: string
  check: TokenCheck
  require: RequireOfToken
  approve: Approve
  draw: DrawFromLimit
  giveBack: GiveBack
  /** The response with the metadata document; `undefined` if the request is for another path. */
  answerMetadata(request: { method?: string | undefined; url?: string | undefined }): Answer | undefined
  /** The token of a request, or the response that refuses the request. Throws what is not a refusal. */
  admit(request: PresentedRequest, needs?: Needs): Promise<Admission>
  /** The response for a refusal that `check`, `require`, `approve`, `draw` or `giveBack` threw. Throws any other error again. */
  answerRefusal(error: unknown): Answer
}

export type Admission = { kind: 'admitted'; token: AccessToken } | { kind: 'refused'; answer: Answer }

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** Seconds for which a copy of the metadata document may be cached. */
const KEPT_FOR = 300

/**
 * Describes one API that takes access tokens (RFC 9728), and checks the tokens.
 *
 * @throws TypeError that names an unusable option
 */
export function createProtectedResource(options: ProtectedResourceOptions): ProtectedResource {
  const { resource, onRefusal } = options
  if (!isSecureUrl(resource)) throw new TypeError('resource must be an https URL (http only on this machine)')
  if (/[?#]/.test(resource)) throw new TypeError('resource must have no query and no fragment')
  const { origin } = new URL(resource)
  const metadataPath = wellKnownPath(resource)
  const metadataUrl = `${origin}${metadataPath}`
  const { check, require, approve, draw, giveBack } = createTokenChecks({ ...options, audience: resource, metadataUrl })
  const metadata = metadataOf(options)
  const body = JSON.stringify(metadata)

  function answerMetadata({ method, url }: { method?: string | undefined; url?: string | undefined }): Answer | undefined {
    if (url === undefined || pathOf(url) !== metadataPath) return undefined
    if (method === 'OPTIONS') return { status: 204, headers: CROSS_ORIGIN, body: '' }
    if (method !== 'GET' && method !== 'HEAD') return { status: 405, headers: { Allow: 'GET, HEAD, OPTIONS' }, body: '' }
    return { status: 200, headers: DOCUMENT, body: method === 'HEAD' ? '' : body }
  }

  function answerRefusal(error: unknown): Answer {
    if (!(error instanceof ResourceError)) throw error
    if (onRefusal) onRefusal(error)
    else if (error.status === 500) reportFault(error)
    const [type, body] =
      error instanceof ApprovalError
        ? ['application/problem+json', error.problem]
        : ['application/json', { error: error.error, error_description: error.description }]
    return { status: error.status, headers: { ...error.headers, 'Content-Type': type }, body: JSON.stringify(body) }
  }

  async function admit(request: PresentedRequest, needs?: Needs): Promise<Admission> {
    try {
      return { kind: 'admitted', token: await check(request, needs) }
    } catch (error) {
      return { kind: 'refused', answer: answerRefusal(error) }
    }
  }

  const checks = { check, require, approve, draw, giveBack }
  return { metadata, metadataUrl, metadataPath, ...checks, answerMetadata, admit, answerRefusal }
}

/** A fault of the API is in a log also if the API sets no `onRefusal`. */
function reportFault({ reason, cause }: ResourceError): void {
  // oxlint-disable-next-line eslint/no-console -- the standard error output of the API's process is the only log that is known here
  console.error(`@grantor/resource: ${reason}: ${cause instanceof Error ? cause.message : ''}`)
}

/** Clients in browsers read the document from any origin. The MCP SDK sends a header of its own, so there is a preflight. */
const CROSS_ORIGIN = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, HEAD',
  'Access-Control-Allow-Headers': '*',
}
const DOCUMENT = {
  ...CROSS_ORIGIN,
  'Content-Type': 'application/json',
  'Cache-Control': `public, max-age=${KEPT_FOR}`,
  'X-Content-Type-Options': 'nosniff',
}

/**
 * RFC 9728 §3, §3.1: the well-known path is inserted between the host and the path of the resource. The "/" of a
 * resource without a path is removed.
 */
function wellKnownPath(resource: string): string {
  const { pathname } = new URL(resource)
  return pathname === '/' ? WELL_KNOWN : `${WELL_KNOWN}${pathname}`
}

/**
 * RFC 9728 §2, §3.2: members without a value are omitted. §3.3: `resource` is the identifier itself, because clients
 * compare it with the address that they called.
 */
function metadataOf(options: ProtectedResourceOptions): ProtectedResourceMetadata {
  const { resource, issuer, scopesSupported = options.scopes, name, documentation, header, dpop } = options
  const metadata: ProtectedResourceMetadata = { resource, authorization_servers: [issuer] }
  if (scopesSupported?.length) metadata.scopes_supported = scopesSupported
  // §2: an empty list means that no method of RFC 6750 is supported.
  const isStandardHeader = header === undefined || header.toLowerCase() === 'authorization'
  metadata.bearer_methods_supported = dpop?.required || !isStandardHeader ? [] : ['header']
  if (name !== undefined) metadata.resource_name = name
  if (documentation !== undefined) metadata.resource_documentation = documentation
  if (dpop) metadata.dpop_signing_alg_values_supported = DPOP_ALGORITHMS
  if (dpop?.required) metadata.dpop_bound_access_tokens_required = true
  return metadata
}
