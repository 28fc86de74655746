/** The body of the request to the hook. docs/operating/hook.md describes the members. */
import { writeTime } from '../../protocol/wallet/message-lines.ts'
import type { HookQuestion } from '../model/deps.ts'

export function questionText({ occasion, client, account, scopes, resources, grant }: HookQuestion, issuer: string, at: number) {
  const { wallet, walletKind, chainId, authTime } = account
  return JSON.stringify({
    type: 'hook.question',
    timestamp: writeTime('at', at),
    data: {
      issuer,
      occasion,
      wallet,
      wallet_kind: walletKind,
      chain_id: chainId,
      auth_time: authTime,
      client_id: client.id,
      client_name: client.name,
      scopes,
      resources,
      ...(grant === undefined ? {} : { grant_id: grant.id }),
    },
  })
}

/** The same question at any occasion: what an answer with `valid_for` answers. */
export function subjectOf({ client, account, scopes, resources }: HookQuestion): string {
  return JSON.stringify([account.wallet, client.id, scopes, resources])
}
