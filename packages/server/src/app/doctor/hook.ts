/** The hook of the operator: one question with a valid signature, and one with a wrong signature. */
import { randomBytes, randomUUID } from 'node:crypto'
import { readAnswer } from '../../domain/hook/answer.ts'
import { questionText } from '../../domain/hook/question.ts'
import { signStandardWebhook } from '../../protocol/keys/standard-webhook.ts'
import { oauthErrors } from '../../protocol/oauth/reasons.ts'
import { createHookPost } from '../compose/hook.ts'
import { hookSettings } from '../compose/service-settings.ts'
import { type CheckResult, ok, type Site, warning, wrong } from './check.ts'

/** The key of this address does not exist. A hook with a list answers `no`, which is a correct answer too. */
const NO_WALLET = '0x0000000000000000000000000000000000000001'
const SCOPE = 'grantor-doctor'

export async function checkHook({ settings, now }: Site): Promise<CheckResult[]> {
  const hook = hookSettings(settings)
  if (hook === null) return [ok('no hook is configured')]
  const post = createHookPost(hook, {})
  const at = now()
  const account = { wallet: NO_WALLET, walletKind: 'ordinary', chainId: settings.chainIds[0] ?? 1, authTime: at } as const
  const client = { id: randomUUID(), name: 'grantor doctor' }
  const question = { occasion: 'refresh', client, account, scopes: [SCOPE], resources: [settings.defaultResource] } as const
  const message = { id: randomUUID(), at, text: questionText({ ...question, scopes: [SCOPE] }, settings.authUrl, at) }
  const ask = (secrets: readonly Uint8Array[]) => post({ text: message.text, headers: signStandardWebhook(message, secrets) })

  const began = performance.now()
  const answer = readAnswer(await ask(hook.secrets), question)
  const took = Math.round(performance.now() - began)
  if (typeof answer === 'string') {
    const [, means] = oauthErrors.temporarily_unavailable.reasons[answer]
    return [wrong(`${answer}: ${means}`, 'Sign-ins and refreshes get 503 until the hook answers: docs/operating/hook.md.')]
  }
  const words = `the hook answers a question about an unknown wallet with ${answer.kind === 'refused' ? 'no' : 'yes'} in ${took} ms`
  const isSlow = took > hook.timeoutMs / 2
  return [
    isSlow ? warning(words, `Make the hook faster: after ${hook.timeoutMs} ms, requests get 503.`) : ok(words),
    await checkSignature(() => ask([new Uint8Array(randomBytes(32))])),
  ]
}

/** Any caller can find out from a hook without a check of signatures which wallets are allowed. */
async function checkSignature(askWrongly: () => ReturnType<ReturnType<typeof createHookPost>>): Promise<CheckResult> {
  const response = await askWrongly()
  return response.kind === 'answered' && response.status === 200
    ? warning(
        'the hook answers a question with a wrong signature',
        'Let the hook check `webhook-signature`, so that no other caller gets answers: docs/operating/hook.md.',
      )
    : ok('the hook refuses a question with a wrong signature')
}
