/**
 * The texts of every notice: what happened, what to do now, and for some notices a hint for the app's builder. A part
 * of the catalogue in texts.ts.
 */
export type NoticeText = {
  tone: 'stop' | 'wait' | 'info' | 'done'
  title: string
  text: string
  next: string
  /** The label of the button, if the notice has an address for one; if absent, "Try again". */
  button?: string
  builder?: string
}

const GO_BACK = 'Go back to {app} and sign in again.'

export const noticeTexts = {
  unknown_client: {
    tone: 'stop',
    title: 'We do not know this app',
    text: 'The link that brought you here names an app that is not registered on this platform.',
    next: 'Go back to the app and try again. If it happens again, tell the people who make it.',
    builder: 'client_id names no enabled client. Compare it with the list of registered clients (grantor clients list).',
  },
  client_document: {
    tone: 'stop',
    title: 'We cannot accept this app',
    text: 'The app that brought you here is not registered on this platform. It describes itself in a document of its own.',
    next: 'Go back to the app and try again. If it happens again, tell the people who make it.',
  },
  client_unavailable: {
    tone: 'wait',
    title: 'We cannot check this app right now',
    text: 'You did nothing wrong, and nothing is lost.',
    next: 'Wait {wait}, then go back to the app and try again.',
  },
  redirect_uri_missing: {
    tone: 'stop',
    title: 'This link is incomplete',
    text: 'It does not say where to bring you after you sign in.',
    next: 'Go back to the app and try again. If it happens again, tell the people who make it.',
    builder: 'Send redirect_uri with every authorization request, exactly as it is registered.',
  },
  redirect_uri_mismatch: {
    tone: 'stop',
    title: 'We stopped to protect you',
    text: 'This link would bring you to an address that the app has not registered. Somebody may have changed it.',
    next: 'Go back to the app and try again. If it happens again, tell the people who make it.',
    builder:
      'redirect_uri must equal a registered one byte for byte: scheme, host, port, path, capitals, and a slash at the end. An operator registered it (grantor clients show), or the app itself did: in the redirect_uris of its metadata document or of its registration.',
  },
  request_unusable: {
    tone: 'wait',
    title: 'This sign-in request cannot be used',
    text: 'It has run out of time, was used before, or was not made as it should be.',
    next: 'Go back to the app and sign in again. If it happens again, tell the people who make it.',
    builder:
      'A request_uri works for 60 seconds, for the client that pushed it, until a code is issued (RFC 9126). A request object is signed with a registered key of the client (RFC 9101).',
  },
  malformed_request: {
    tone: 'stop',
    title: 'Something is wrong with this link',
    text: 'Parts of it are missing, doubled or garbled.',
    next: 'Go back to the app and try again. If it happens again, tell the people who make it.',
    builder: 'Send each parameter once, form-urlencoded in UTF-8 (RFC 6749 §3.1).',
  },
  broken_link: {
    tone: 'stop',
    title: 'This sign-in link does not work',
    text: 'It is incomplete, or was changed on its way here.',
    next: 'Go back to the app you came from and sign in again.',
  },
  expired: {
    tone: 'wait',
    title: 'This sign-in has run out of time',
    text: 'For your safety a sign-in stays open for a few minutes only. This one has closed, and you were not signed in.',
    next: GO_BACK,
  },
  already_used: {
    tone: 'info',
    title: 'This sign-in is already finished',
    text: 'Each one works once, and this one has been used, perhaps in another tab.',
    next: 'Go back to {app}. If you are not signed in there, sign in again.',
  },
  continued_elsewhere: {
    tone: 'done',
    title: 'You signed on your other device',
    text: 'This sign-in was continued there, and this page goes no further.',
    next: 'Go on where you signed. If you want to go on here as well, go back to {app} and start again.',
  },
  declined_elsewhere: {
    tone: 'info',
    title: 'You declined',
    text: 'Nothing was signed here, and {app} got nothing.',
    next: 'You can close this page. Where you began, the sign-in is still open: decline it there as well, or let it run out.',
  },
  continue_on_app: {
    tone: 'done',
    title: 'You are signed in on this device',
    text: 'Your wallet signed, and this browser now knows you.',
    next: 'Go on to {app} on this device and sign in there. Your wallet need not sign again.',
    button: 'Go to {app}',
  },
  signed_out: {
    tone: 'done',
    title: 'You are signed out',
    text: 'This browser no longer knows your wallet. Apps keep the access you gave them until it ends or you end it.',
    next: 'You can close this page, or sign in again.',
    button: 'Sign in again',
  },
  still_signed_in: {
    tone: 'info',
    title: 'You stay signed in',
    text: 'Nothing has changed.',
    next: 'You can close this page, or look at what apps may do for your wallet.',
    button: 'Your connected apps',
  },
  sign_out_again: {
    tone: 'info',
    title: 'You were asked about another sign-in',
    text: 'Some time has passed since, or you signed in again. You are still signed in.',
    next: 'To sign out, use the button on your page of connected apps.',
    button: 'Your connected apps',
  },
  logout_address_unknown: {
    tone: 'stop',
    title: 'You are still signed in here',
    text: 'The app wants to bring you to an address that it has not registered, so we stopped.',
    next: 'Go back to the app and try again. To sign out here, open your page of connected apps.',
    builder: 'post_logout_redirect_uri must equal a registered one byte for byte (grantor clients show).',
  },
  logout_hint_unknown: {
    tone: 'stop',
    title: 'You are still signed in here',
    text: 'The app sent a sign-in token that this service did not make, so we stopped.',
    next: 'Go back to the app and try again. To sign out here, open your page of connected apps.',
    builder:
      'id_token_hint must be an ID token of this service, as it was issued. If the app has none, send client_id in its place.',
  },
  logout_client_missing: {
    tone: 'stop',
    title: 'You are still signed in here',
    text: 'The app wants to bring you back but does not say which app it is, so we stopped.',
    next: 'Go back to the app and try again. To sign out here, open your page of connected apps.',
    builder: 'post_logout_redirect_uri needs id_token_hint or client_id beside it.',
  },
  signed_for_browser: {
    tone: 'done',
    title: 'Done: look at your other screen',
    text: 'The browser there is signed in to {app} and goes on by itself, within a few seconds.',
    next: 'You can close this page, and go back to where you began. If you closed the page there, or nothing happens, start again at {app}.',
  },
  signed_on_other_device: {
    tone: 'info',
    title: 'Another device has signed already',
    text: 'A wallet there signed this sign-in first. A signature from here does not count.',
    next: 'Was it you? Then go on in the browser where you began. If not, start again at {app}.',
    button: 'Go on here',
  },
  not_signed_yet: {
    tone: 'wait',
    title: 'Nothing was signed yet',
    text: 'No signature from your other device has arrived.',
    next: 'Sign there first, then try again here.',
  },
  cross_device_denied: {
    tone: 'info',
    title: 'The other screen gets no access',
    text: 'Nothing was signed. The other screen keeps waiting until its code runs out, ten minutes at most.',
    next: 'You can close this page. If you did not begin this sign-in yourself, somebody tried to use your wallet.',
  },
  cross_device_off: {
    tone: 'stop',
    title: 'This way is switched off',
    text: 'This platform does not let a wallet sign in a browser on another screen.',
    next: 'Sign in with a wallet in the browser where you began.',
  },
  cross_device_expired: {
    tone: 'wait',
    title: 'This code has run out of time',
    text: 'It works for ten minutes. Nothing was signed.',
    next: 'Go back to your other screen, start again at the app there, and scan the new code.',
  },
  cross_device_used: {
    tone: 'info',
    title: 'This code was used already',
    text: 'Each code works once, for one wallet.',
    next: 'Look at your other screen. If it is not signed in, start again there.',
  },
  device_allowed: {
    tone: 'done',
    title: 'Your device is signed in',
    text: '{app} goes on there by itself, within a few seconds.',
    next: 'You can close this page. You can end the access at any time on your page of connected apps.',
    button: 'Your connected apps',
  },
  device_denied: {
    tone: 'info',
    title: 'The device gets no access',
    text: 'Nothing was signed, and the code no longer works.',
    next: 'You can close this page. To sign in after all, start again on your device.',
  },
  device_answered: {
    tone: 'info',
    title: 'This code was used already',
    text: 'Each code works once.',
    next: 'Look at your device. If it is not signed in, start again there.',
  },
  device_not_allowed: {
    tone: 'stop',
    title: 'This account may not use the app',
    text: 'The platform does not let this account use the app on your device. The code of the device still works.',
    next: 'To use another account, open the page of the code again and enter the code.',
  },
  device_expired: {
    tone: 'wait',
    title: 'This code has run out of time',
    text: 'For your safety a code works for a few minutes only.',
    next: 'Start again on your device. It then shows a new code.',
  },
  everything_ended: {
    tone: 'done',
    title: 'Everything is ended',
    text: 'Every app has lost its access, and every browser is signed out. Nothing that your wallet signed before counts any more.',
    next: 'You need do nothing more. To use an app again, sign in to it as you did the first time.',
  },
  ending_under_way: {
    tone: 'wait',
    title: 'Ending is under way',
    text: 'What you chose to end gives no new access from this moment on. Your wallet has allowed very much, so ending the old access takes some minutes: {count} grants have ended so far. Until then, apps can still use the others.',
    next: 'You need do nothing more: the work goes on if you close this page. Look again to see how far it is.',
    button: 'Look again',
  },
  ending_done: {
    tone: 'done',
    title: 'The access is ended',
    text: 'Everything that you chose to end has ended. It gives no access any more.',
    next: 'You need do nothing more. To use an app again, sign in to it.',
    button: 'Your connected apps',
  },
  receipt_not_found: {
    tone: 'info',
    title: 'There is no such receipt',
    text: 'It may belong to another wallet, or have been cleared away long after its end.',
    next: 'Go back to your connected apps and look there.',
    button: 'Your connected apps',
  },
  wrong_browser: {
    tone: 'stop',
    title: 'This sign-in began in another browser',
    text: 'It can only be finished where it was started. That way nobody can sign you in to an account that is not yours.',
    next: 'Go back to {app} in this browser and sign in again.',
    button: 'Start again',
  },
  cancelled: {
    tone: 'info',
    title: 'You cancelled',
    text: 'Nothing was signed, and nothing has changed.',
    next: 'You can close this page, or sign in to your account page after all.',
    button: 'Sign in',
  },
  login_required_again: {
    tone: 'info',
    title: 'Please sign in again',
    text: 'You are no longer signed in here, so we could not finish this step.',
    next: GO_BACK,
    button: 'Start again',
  },
  unavailable: {
    tone: 'wait',
    title: 'We cannot sign you in right now',
    text: 'Something we depend on does not answer. You did nothing wrong, and nothing is lost.',
    next: 'Wait a moment, then try again.',
  },
  too_many_failures: {
    tone: 'wait',
    title: 'Too many failed attempts',
    text: 'There were many failed attempts from your network, so we slow things down for a while.',
    next: 'Wait {wait}, then try again.',
  },
  too_many_codes: {
    tone: 'wait',
    title: 'Too many sign-ins to apps',
    text: 'Apps requested access for your wallet too often within a minute. One of them may be in a loop.',
    next: 'Wait {wait}, then go back to the app and sign in again.',
    builder:
      'Each code is one sign-in to an app. A page that requests a code whenever it is loaded, or after every answer, reaches the limit.',
  },
  address_not_allowed: {
    tone: 'stop',
    title: 'This wallet is not accepted here',
    text: 'The platform does not let this account sign in.',
    next: 'Try again with another account, or ask the platform for access.',
  },
  chain_not_allowed: {
    tone: 'stop',
    title: 'This network is not accepted here',
    text: 'The platform does not accept sign-ins made for this network.',
    next: 'Try again, with your wallet on Ethereum.',
  },
  foreign_origin: {
    tone: 'stop',
    title: 'We stopped a request from another site',
    text: 'A page elsewhere tried to send something here in your name. Nothing was done.',
    next: 'If you were signing in, go back to {app} and start again.',
  },
  not_a_navigation: {
    tone: 'stop',
    title: 'This address opens only as a page',
    text: 'Your browser, or another page, loaded it in the background. Nothing was done.',
    next: 'Go back to the app and sign in again.',
    builder:
      'Send the browser here by a link or a redirect. A prefetch (Sec-Purpose), an image, a script and a call of fetch (Sec-Fetch-Dest) are refused.',
  },
  too_large: {
    tone: 'stop',
    title: 'That was too long',
    text: 'What was sent is longer than any sign-in needs.',
    next: 'Go back, check that you pasted nothing but your address or signature, and try again.',
  },
  wrong_type: {
    tone: 'stop',
    title: 'We cannot read this',
    text: 'It was sent in a form that this page does not understand.',
    next: 'Go back to {app} and sign in again.',
    builder: 'Send application/json or application/x-www-form-urlencoded.',
  },
  wrong_method: {
    tone: 'stop',
    title: 'This address works differently',
    text: 'It cannot be opened in this way.',
    next: 'To sign in, start in the app you want to use.',
  },
  not_found: {
    tone: 'info',
    title: 'There is nothing here',
    text: 'This address leads to no page.',
    next: 'To sign in, start in the app you want to use. It brings you to the right place.',
  },
  defect: {
    tone: 'stop',
    title: 'Something went wrong on our side',
    text: 'It is not your fault, and we have noted it.',
    next: 'Try again. If it happens again, tell the platform’s support the number below.',
  },
} as const satisfies Record<string, NoticeText>

export type NoticeKind = keyof typeof noticeTexts
