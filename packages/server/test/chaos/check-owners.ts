/** The part of the checker for contract wallets, whose owners change. Pure. */
import { type Rules, settledAt } from './endings.ts'
import { type Entry, precedes, type Violation } from './history.ts'
import { type Lineage, ownerChanges, signaturesBehind } from './lineage.ts'

/** The service waits this long for a chain. Without a response, the last successful check counts for the grace period. */
const CHAIN_TIMEOUT_MS = 2000

/** I3: a former owner of a wallet gets no tokens for an earlier signature, and cannot sign in. */
export function formerOwnerViolations(lineages: readonly Lineage[], history: readonly Entry[], rules: Rules): Violation[] {
  const served = history.filter(({ request, response }) => request.op === 'sign_in_as_former' && response.kind === 'done')
  const broken = history.filter(({ request }) => request.op === 'chain_broken')
  const chainRequests = Map.groupBy(
    lineages.flatMap(({ wallet, entries }) => entries.filter(needsChain).map((entry) => ({ wallet, entry }))),
    ({ wallet }) => wallet,
  )
  const words = 'a former owner of a wallet was served'
  return [
    ...served.map((entry): Violation => ({ invariant: 'I3', words, entries: [entry] })),
    ...lineages.flatMap((lineage): Violation[] => {
      const signed = signaturesBehind(lineage, rules.signed)
      const change = ownerChanges(lineage).find((each) => !signed.some((one) => settledAt(one, rules) > each.begin))
      if (!change) return []
      const ofWallet = (chainRequests.get(lineage.wallet) ?? []).map(({ entry }) => entry)
      return lineage.entries
        .filter((entry) => needsChain(entry) && entry.response.kind === 'tokens' && precedes(change, entry))
        .filter((entry) => !sharingCheckWith(entry, ofWallet).some((each) => mayHaveMissedChange(each, change, broken)))
        .map((entry): Violation => ({ invariant: 'I3', words, entries: [lineage.issue, change, entry] }))
    }),
  ]
}

const needsChain = ({ request }: Entry): boolean => request.op === 'refresh' || request.op === 'redeem'

/** Simultaneous requests share one check of the chain. Returns the requests that may have shared the check of this one, and itself. */
function sharingCheckWith(entry: Entry, ofWallet: readonly Entry[]): Entry[] {
  return ofWallet.filter((other) => other.begin <= entry.end && mayRunUntil(other) >= entry.begin)
}

/** Whether the check began before the transfer, or may have got no correct response. */
function mayHaveMissedChange(entry: Entry, change: Entry, broken: readonly Entry[]): boolean {
  const until = mayRunUntil(entry)
  if (entry.begin < change.end || until - entry.begin >= CHAIN_TIMEOUT_MS) return true
  return broken.some((each) => each.begin < until && each.end > entry.begin)
}

function mayRunUntil({ response, end }: Entry): number {
  return response.kind === 'lost' ? end + CHAIN_TIMEOUT_MS : end
}
