/** Why a client that no operator registered, or its keys, could not be used: one sentence for each reason. In English in every language. */
import type { ReasonOf } from '../protocol/oauth/reasons.ts'

type DocumentReason = Extract<ReasonOf<'invalid_client'>, `metadata_${string}`>
type CallReason = Extract<
  ReasonOf<'temporarily_unavailable'>,
  'client_fetches' | 'host_fetches' | 'client_calls' | 'client_keys_unavailable' | 'client_metadata_unavailable'
>

const clientCauses: Readonly<Record<DocumentReason | CallReason, string>> = {
  metadata_client_id_malformed: 'Its client_id is a URL that cannot be the address of such a document.',
  metadata_host_not_allowed: 'This platform does not accept apps of its host.',
  metadata_unavailable: 'The document could not be fetched from its address.',
  metadata_status: 'The server of the document did not respond with status 200.',
  metadata_type: 'The server of the document did not respond with a JSON media type.',
  metadata_not_json: 'The document is not a JSON object.',
  metadata_member_twice: 'The document has two members with the same name.',
  metadata_client_id_differs: 'The client_id in the document is not the address of the document.',
  metadata_has_secret: 'The document contains a client secret, although everybody can read it.',
  metadata_name: 'The client_name in the document is too long, or can deceive.',
  metadata_redirect_uris: 'The redirect_uris in the document are missing, or one of them is not allowed.',
  metadata_grant_types: 'The grant_types in the document have none that this service gives to such an app.',
  metadata_keys: 'The keys in the document cannot be used.',
  metadata_auth_method: 'The document names no method of authentication that this service supports for such an app.',
  metadata_values: 'The document has a member with a value that this service does not offer.',
  client_metadata_unavailable: 'The document of the app could not be fetched from its address.',
  client_keys_unavailable: 'The keys of the app could not be fetched from its server.',
  client_fetches: 'Your network has named too many new apps within one minute.',
  host_fetches: 'The server of the app was called too often within one minute.',
  client_calls: 'Too many apps are being checked at this moment.',
}

export function hasClientCause(reason: string): reason is keyof typeof clientCauses {
  return Object.hasOwn(clientCauses, reason)
}

/** The sentence for a reason; '' if the reason is another one. */
export function clientCause(reason: string | undefined): string {
  return reason !== undefined && hasClientCause(reason) ? clientCauses[reason] : ''
}
