/** The settings of the operator's hook. docs/operating/hook.md describes the hook. */
import * as read from './parsers.ts'
import { auth, originOf, type Setting } from './setting.ts'

export const hook = {
  hookUrl: {
    name: 'HOOK_URL',
    words:
      'The address of a server of the operator that decides, before a code is issued and at each refresh, whether a wallet may have the scopes at the client. https, or http on this machine. If the server does not respond, these requests are refused with 503. docs/operating/hook.md.',
    usedBy: auth,
    parse: read.hookUrl,
    shown: originOf,
    otherwise: 'none: no question is sent',
  },
  hookSecret: {
    name: 'HOOK_SECRET',
    words:
      'Signs each request to GRANTOR_HOOK_URL: `whsec_` and 24 to 64 random bytes in base64, as made by `echo "whsec_$(openssl rand -base64 32)"`.',
    usedBy: auth,
    parse: read.standardWebhookSecret,
    secret: true,
  },
  hookSecretPrevious: {
    name: 'HOOK_SECRET_PREVIOUS',
    words: 'The secret that GRANTOR_HOOK_SECRET replaces. While it is set, each request has a signature of both.',
    usedBy: auth,
    parse: read.standardWebhookSecret,
    secret: true,
  },
  hookTimeout: {
    name: 'HOOK_TIMEOUT_MS',
    words: 'Milliseconds for which a request waits for the whole answer of the hook.',
    usedBy: auth,
    parse: read.integer(50, 10_000, 'milliseconds'),
    preset: '2000',
  },
} satisfies Record<string, Setting>
