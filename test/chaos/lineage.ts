/** Sorts a history by code: everything that was asked and told about one code, its grant and its tokens. */
import { type Entry, RESOURCE_SERVER, type Tokens } from './history.ts'

export type Lineage = {
  code: string
  /** the answer that gave the code */
  issue: Entry
  wallet: string
  client: string
  /** about this code, its tokens, its app or its wallet as a whole; by their beginning */
  entries: Entry[]
  /** of its wallet, begun before the code was given */
  signIns: Entry[]
  /** every refresh token that was told, with all successors that were told for it */
  successors: Map<string, Set<string>>
  /** every access token that was told, with the answer */
  access: Map<string, Tokens>
}

export type Sorted = {
  lineages: Lineage[]
  /** answers with a token that belongs to another code already */
  mixed: { entry: Entry; with: Entry }[]
}

export function sortByCode(history: readonly Entry[]): Sorted {
  const byCode = new Map<string, Lineage>()
  const ofToken = new Map<string, { lineage: Lineage; entry: Entry }>()
  const mixed: Sorted['mixed'] = []
  const signIns = Map.groupBy(
    history.flatMap((entry) => (entry.asked.op === 'sign_in' ? [{ entry, wallet: entry.asked.wallet }] : [])),
    ({ wallet }) => wallet,
  )

  // Whoever sends a token was told it before, so by their ends every token is told before an answer for it.
  for (const entry of [...history].sort((a, b) => a.end - b.end)) {
    const { asked, told } = entry
    if (asked.op === 'authorize' && told.kind === 'code') {
      const { wallet, client } = asked
      byCode.set(told.code, {
        code: told.code,
        issue: entry,
        wallet,
        client,
        entries: [],
        signIns: (signIns.get(wallet) ?? []).flatMap((each) => (each.entry.begin < entry.end ? [each.entry] : [])),
        successors: new Map(),
        access: new Map(),
      })
    }
    if (told.kind !== 'tokens') continue
    const lineage =
      asked.op === 'redeem' ? byCode.get(asked.code) : asked.op === 'refresh' ? ofToken.get(asked.token)?.lineage : undefined
    if (!lineage) continue
    for (const token of [told.access, told.refresh]) {
      const known = ofToken.get(token)
      if (known && known.lineage !== lineage) mixed.push({ entry, with: known.entry })
      else if (!known) ofToken.set(token, { lineage, entry })
    }
    lineage.access.set(told.access, told)
    if (!lineage.successors.has(told.refresh)) lineage.successors.set(told.refresh, new Set())
    if (asked.op === 'refresh') lineage.successors.get(asked.token)?.add(told.refresh)
  }

  const byWallet = Map.groupBy(byCode.values(), ({ wallet }) => wallet)
  const byApp = Map.groupBy(byCode.values(), ({ wallet, client }) => `${wallet} ${client}`)
  for (const entry of [...history].sort((a, b) => a.begin - b.begin)) {
    const { asked } = entry
    if (asked.op === 'redeem') byCode.get(asked.code)?.entries.push(entry)
    else if ('token' in asked) ofToken.get(asked.token)?.lineage.entries.push(entry)
    else if (asked.op === 'end_app')
      for (const lineage of byApp.get(`${asked.wallet} ${asked.client}`) ?? []) lineage.entries.push(entry)
    else if (asked.op === 'end_everything' || asked.op === 'change_owner')
      for (const lineage of byWallet.get(asked.wallet) ?? []) lineage.entries.push(entry)
  }
  return { lineages: [...byCode.values()], mixed }
}

/** Whether whoever asked had a right to: the grant's own client, and about access tokens the resource server too. */
export function isEntitled({ client }: Lineage, { asked, caller }: Entry): boolean {
  return caller === client || (asked.op === 'introspect' && caller === RESOURCE_SERVER)
}

/** Requests for one token by those who had a right to. */
export function asking(lineage: Lineage, op: 'refresh' | 'revoke' | 'introspect', token: string): Entry[] {
  return lineage.entries.filter((entry) => {
    const { asked } = entry
    return asked.op === op && asked.token === token && isEntitled(lineage, entry)
  })
}

/** Redemptions of the code by its own client. */
export function redemptions(lineage: Lineage): Entry[] {
  return lineage.entries.filter(({ asked, caller }) => asked.op === 'redeem' && caller === lineage.client)
}

/** The sign-ins whose signed text a code may rest on: its session's own, or where each app needs one, those for its app. */
export function signaturesBehind({ signIns, issue, client }: Lineage, signed: ReadonlySet<string>): Entry[] {
  return signIns.filter(({ asked }) => {
    if (asked.op !== 'sign_in' || issue.asked.op !== 'authorize') return false
    return signed.has(client) ? asked.client === client : asked.session === issue.asked.session
  })
}

/** When the contract that is its wallet got another owner. */
export function ownerChanges({ entries }: Lineage): Entry[] {
  return entries.filter(({ asked }) => asked.op === 'change_owner')
}
