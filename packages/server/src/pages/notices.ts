/**
 * The kinds of notices. The catalogue (packages/server/locales/en.json) has the title, what happened, and what to do now.
 */
export type NoticeTone = 'stop' | 'wait' | 'info' | 'done'

/** `builder`: a hint for the people who build the app, in English in every language. */
type NoticeFacts = { tone: NoticeTone; builder?: string }

export const notices = {
  unknown_client: {
    tone: 'stop',
    builder: 'client_id names no enabled client. Compare it with the list of registered clients (grantor clients list).',
  },
  client_document: { tone: 'stop' },
  client_unavailable: { tone: 'wait' },
  redirect_uri_missing: {
    tone: 'stop',
    builder: 'Send redirect_uri with every authorization request, exactly as it is registered.',
  },
  redirect_uri_mismatch: {
    tone: 'stop',
    builder:
      'redirect_uri must equal a registered one byte for byte: scheme, host, port, path, capitals, and a slash at the end. An operator registered it (grantor clients show), or the app itself did: in the redirect_uris of its metadata document or of its registration.',
  },
  request_unusable: {
    tone: 'wait',
    builder:
      'A request_uri works for 60 seconds, for the client that pushed it, until a code is issued (RFC 9126). A request object is signed with a registered key of the client (RFC 9101).',
  },
  malformed_request: {
    tone: 'stop',
    builder: 'Send each parameter once, form-urlencoded in UTF-8 (RFC 6749 §3.1).',
  },
  broken_link: { tone: 'stop' },
  expired: { tone: 'wait' },
  already_used: { tone: 'info' },
  continued_elsewhere: { tone: 'done' },
  declined_elsewhere: { tone: 'info' },
  continue_on_app: { tone: 'done' },
  signed_out: { tone: 'done' },
  still_signed_in: { tone: 'info' },
  sign_out_again: { tone: 'info' },
  logout_address_unknown: {
    tone: 'stop',
    builder: 'post_logout_redirect_uri must equal a registered one byte for byte (grantor clients show).',
  },
  logout_hint_unknown: {
    tone: 'stop',
    builder:
      'id_token_hint must be an ID token of this service, as it was issued. If the app has none, send client_id in its place.',
  },
  logout_client_missing: {
    tone: 'stop',
    builder: 'post_logout_redirect_uri needs id_token_hint or client_id beside it.',
  },
  signed_for_browser: { tone: 'done' },
  signed_on_other_device: { tone: 'info' },
  not_signed_yet: { tone: 'wait' },
  cross_device_denied: { tone: 'info' },
  cross_device_off: { tone: 'stop' },
  cross_device_expired: { tone: 'wait' },
  cross_device_used: { tone: 'info' },
  device_allowed: { tone: 'done' },
  device_denied: { tone: 'info' },
  device_answered: { tone: 'info' },
  device_not_allowed: { tone: 'stop' },
  device_expired: { tone: 'wait' },
  approval_unknown: { tone: 'stop' },
  approval_signed: { tone: 'done' },
  approval_declined: { tone: 'info' },
  approval_was_signed: { tone: 'info' },
  approval_was_declined: { tone: 'info' },
  approval_answered: { tone: 'info' },
  approval_expired: { tone: 'wait' },
  approval_ended: { tone: 'stop' },
  everything_ended: { tone: 'done' },
  ending_under_way: { tone: 'wait' },
  ending_done: { tone: 'done' },
  receipt_not_found: { tone: 'info' },
  wrong_browser: { tone: 'stop' },
  cancelled: { tone: 'info' },
  login_required_again: { tone: 'info' },
  unavailable: { tone: 'wait' },
  too_many_failures: { tone: 'wait' },
  too_many_codes: {
    tone: 'wait',
    builder:
      'Each code is one sign-in to an app. A page that requests a code whenever it is loaded, or after every answer, reaches the limit.',
  },
  address_not_allowed: { tone: 'stop' },
  chain_not_allowed: { tone: 'stop' },
  foreign_origin: { tone: 'stop' },
  not_a_navigation: {
    tone: 'stop',
    builder:
      'Send the browser here by a link or a redirect. A prefetch (Sec-Purpose), an image, a script and a call of fetch (Sec-Fetch-Dest) are refused.',
  },
  too_large: { tone: 'stop' },
  wrong_type: {
    tone: 'stop',
    builder: 'Send application/json or application/x-www-form-urlencoded.',
  },
  wrong_method: { tone: 'stop' },
  not_found: { tone: 'info' },
  defect: { tone: 'stop' },
} as const satisfies Record<string, NoticeFacts>

export type NoticeKind = keyof typeof notices

export function factsOfNotice(kind: NoticeKind): NoticeFacts {
  return notices[kind]
}
