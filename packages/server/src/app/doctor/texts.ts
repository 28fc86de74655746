/** Whether the wallets of all users can sign the texts of the registered clients. */

import { longestText, SIGNED_BY_EVERY_WALLET } from '../../domain/resources/longest-text.ts'
import { CommandError } from '../../operators/terminal/command.ts'
import { textFactsOf } from '../compose/command-service.ts'
import { withStore } from '../compose/with-store.ts'
import { type CheckResult, ok, type Site, unchecked, warning } from './check.ts'

/** Clients that are read at a time. */
const PAGE = 500
const BYTES = SIGNED_BY_EVERY_WALLET.toLocaleString('en')

type Longest = { clients: number; tooLong: number; id: string; length: number }

export async function checkTexts({ settings, now }: Site): Promise<CheckResult[]> {
  try {
    return [judge(await readLongest({ settings, now }))]
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    return [unchecked(`the clients cannot be read: ${error.message}`, 'See the check of the database.')]
  }
}

function readLongest({ settings, now }: Pick<Site, 'settings' | 'now'>): Promise<Longest> {
  return withStore(settings, { now }, async (store) => {
    const longest: Longest = { clients: 0, tooLong: 0, id: '', length: 0 }
    const facts = await textFactsOf(store, settings)
    if (facts === null) return longest
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await store.clients.readClients({ after, limit: PAGE })
      for (const client of page) {
        const length = longestText(facts, client)
        if (length > SIGNED_BY_EVERY_WALLET) longest.tooLong += 1
        if (length > longest.length) Object.assign(longest, { id: client.id, length })
      }
      longest.clients += page.length
      after = page.length < PAGE ? undefined : page.at(-1)?.id
    }
    return longest
  })
}

function judge({ clients, tooLong, id, length }: Longest): CheckResult {
  if (tooLong === 0) return ok(`the texts of all ${clients} clients have at most ${BYTES} bytes`)
  return warning(
    `${tooLong} of ${clients} clients have a text to sign of more than ${BYTES} bytes, which some hardware wallets refuse; the longest has ${length.toLocaleString('en')} bytes, of client ${id}`,
    'Register fewer scopes or resources for these clients, or let them request fewer at a time.',
  )
}
