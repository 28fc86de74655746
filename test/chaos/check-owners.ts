/** The part of the checker that holds a history to what a chain said of its contract wallets: their owners change. Pure. */
import type { Violation } from './check-history.ts'
import { type Rules, settled } from './endings.ts'
import { type Entry, precedes } from './history.ts'
import { type Lineage, ownerChanges, signaturesBehind } from './lineage.ts'

/** For so many milliseconds the service waits for a chain. Without an answer it believes the last good one for a while. */
const CHAIN_PATIENCE = 2000

/** I3: whoever does not own a wallet any more gets no tokens on what they signed, and does not sign in. */
export function formerOwnersServed(lineages: readonly Lineage[], history: readonly Entry[], rules: Rules): Violation[] {
  const served = history.filter(({ asked, told }) => asked.op === 'sign_in_as_former' && told.kind === 'done')
  const broken = history.filter(({ asked }) => asked.op === 'chain_broken')
  const questions = Map.groupBy(
    lineages.flatMap(({ wallet, entries }) => entries.filter(asksChain).map((entry) => ({ wallet, entry }))),
    ({ wallet }) => wallet,
  )
  const words = 'a former owner of a wallet was served'
  return [
    ...served.map((entry): Violation => ({ invariant: 'I3', words, entries: [entry] })),
    ...lineages.flatMap((lineage): Violation[] => {
      const signed = signaturesBehind(lineage, rules.signed)
      const change = ownerChanges(lineage).find((each) => !signed.some((one) => settled(one, rules) > each.begin))
      if (!change) return []
      const ofWallet = (questions.get(lineage.wallet) ?? []).map(({ entry }) => entry)
      return lineage.entries
        .filter((entry) => asksChain(entry) && entry.told.kind === 'tokens' && precedes(change, entry))
        .filter((entry) => !sharedWith(entry, ofWallet).some((each) => mayBeMistaken(each, change, broken)))
        .map((entry): Violation => ({ invariant: 'I3', words, entries: [lineage.issue, change, entry] }))
    }),
  ]
}

const asksChain = ({ asked }: Entry): boolean => asked.op === 'refresh' || asked.op === 'redeem'

/** Fifty who ask at once are told what the first of them was: the requests whose question may have been this one's, itself too. */
function sharedWith(entry: Entry, ofWallet: readonly Entry[]): Entry[] {
  return ofWallet.filter((other) => other.begin <= entry.end && askedUntil(other) >= entry.begin)
}

/** Whether it was asked before the change, or may have had no true answer. */
function mayBeMistaken(entry: Entry, change: Entry, broken: readonly Entry[]): boolean {
  const until = askedUntil(entry)
  if (entry.begin < change.end || until - entry.begin >= CHAIN_PATIENCE) return true
  return broken.some((each) => each.begin < until && each.end > entry.begin)
}

function askedUntil({ told, end }: Entry): number {
  return told.kind === 'lost' ? end + CHAIN_PATIENCE : end
}
