/** Sorts a history by code: all entries about one code, its grant and its tokens. */
import { type Entry, RESOURCE_SERVER, type Tokens } from './history.ts'

export type Lineage = {
  code: string
  /** the entry whose response gave the code */
  issue: Entry
  wallet: string
  client: string
  /** the entries about this code, its tokens, its app or its wallet, ordered by their beginning */
  entries: Entry[]
  /** the sign-ins of its wallet that began before the response with the code */
  signIns: Entry[]
  /** every received refresh token, with all successors that were received for it */
  successors: Map<string, Set<string>>
  /** every received access token, with its response */
  access: Map<string, Tokens>
}

export type Sorted = {
  lineages: Lineage[]
  /** responses with a token that already belongs to another code */
  mixed: { entry: Entry; with: Entry }[]
}

export function sortByCode(history: readonly Entry[]): Sorted {
  const byCode = new Map<string, Lineage>()
  const ofToken = new Map<string, { lineage: Lineage; entry: Entry }>()
  const mixed: Sorted['mixed'] = []
  const signIns = Map.groupBy(
    history.flatMap((entry) => (entry.request.op === 'sign_in' ? [{ entry, wallet: entry.request.wallet }] : [])),
    ({ wallet }) => wallet,
  )

  // A client receives a token before it sends the token. Ordered by their ends, each token is therefore received before a response for it.
  for (const entry of [...history].sort((a, b) => a.end - b.end)) {
    const { request, response } = entry
    if ((request.op === 'authorize' || request.op === 'sign_limit') && response.kind === 'code') {
      const { wallet, client } = request
      byCode.set(response.code, {
        code: response.code,
        issue: entry,
        wallet,
        client,
        entries: [],
        signIns: (signIns.get(wallet) ?? []).flatMap((each) => (each.entry.begin < entry.end ? [each.entry] : [])),
        successors: new Map(),
        access: new Map(),
      })
    }
    if (response.kind !== 'tokens') continue
    const lineage =
      request.op === 'redeem'
        ? byCode.get(request.code)
        : request.op === 'refresh'
          ? ofToken.get(request.token)?.lineage
          : undefined
    if (!lineage) continue
    for (const token of [response.access, response.refresh]) {
      const known = ofToken.get(token)
      if (known && known.lineage !== lineage) mixed.push({ entry, with: known.entry })
      else if (!known) ofToken.set(token, { lineage, entry })
    }
    lineage.access.set(response.access, response)
    if (!lineage.successors.has(response.refresh)) lineage.successors.set(response.refresh, new Set())
    if (request.op === 'refresh') lineage.successors.get(request.token)?.add(response.refresh)
  }

  const byWallet = Map.groupBy(byCode.values(), ({ wallet }) => wallet)
  const byApp = Map.groupBy(byCode.values(), ({ wallet, client }) => `${wallet} ${client}`)
  for (const entry of [...history].sort((a, b) => a.begin - b.begin)) {
    const { request } = entry
    if (request.op === 'redeem') byCode.get(request.code)?.entries.push(entry)
    else if ('token' in request) ofToken.get(request.token)?.lineage.entries.push(entry)
    else if (request.op === 'end_app')
      for (const lineage of byApp.get(`${request.wallet} ${request.client}`) ?? []) lineage.entries.push(entry)
    else if (request.op === 'end_everything' || request.op === 'change_owner')
      for (const lineage of byWallet.get(request.wallet) ?? []) lineage.entries.push(entry)
  }
  return { lineages: [...byCode.values()], mixed }
}

/** Whether the caller is entitled to its request: the client of the grant, and for introspection also the resource server. */
export function isEntitled({ client }: Lineage, { request, caller }: Entry): boolean {
  return caller === client || (request.op === 'introspect' && caller === RESOURCE_SERVER)
}

/** The requests with one token by entitled callers. */
export function requestsFor(lineage: Lineage, op: 'refresh' | 'revoke' | 'introspect', token: string): Entry[] {
  return lineage.entries.filter((entry) => {
    const { request } = entry
    return request.op === op && request.token === token && isEntitled(lineage, entry)
  })
}

/** The redemptions of the code by its own client. */
export function redemptions(lineage: Lineage): Entry[] {
  return lineage.entries.filter(({ request, caller }) => request.op === 'redeem' && caller === lineage.client)
}

/** The sign-ins whose signature a code may depend on: that of its limit or of its session, or for an app with signed consents those for the app. */
export function signaturesBehind({ signIns, issue, client }: Lineage, signed: ReadonlySet<string>): Entry[] {
  if (issue.request.op === 'sign_limit') return [issue]
  return signIns.filter(({ request }) => {
    if (request.op !== 'sign_in' || issue.request.op !== 'authorize') return false
    return signed.has(client) ? request.client === client : request.session === issue.request.session
  })
}

/** The transfers of the contract that is the wallet of the code. */
export function ownerChanges({ entries }: Lineage): Entry[] {
  return entries.filter(({ request }) => request.op === 'change_owner')
}
