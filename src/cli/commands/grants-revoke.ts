import { endGrantsOfWallet, endOneGrant } from '../../domain/consent/end-grants.ts'
import type { Store } from '../../domain/model/store.ts'
import { recordAct } from '../compose/record-act.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { CommandError, defineCommand, EXIT, UsageError } from '../terminal/command.ts'
import { counted } from '../terminal/print.ts'
import { walletFrom } from '../terminal/wallet-option.ts'

export const grantsRevoke = defineCommand({
  name: 'grants revoke',
  words: 'Ends one grant, or all grants of a wallet. Their tokens are inactive from then on.',
  about: [
    'Name either --grant or --wallet. --wallet also voids codes and logins in progress; with --client it ends only the grants to that client. To stop a client for all users: grantor clients disable, or delete.',
  ],
  options: {
    grant: { value: 'GRANT_ID', words: 'The id of the grant, from grantor grants list.' },
    wallet: { value: 'ADDRESS', words: 'All grants of this wallet.' },
    client: { value: 'CLIENT_ID', words: 'With --wallet: only the grants to this client.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: [
    'grantor grants revoke --grant 6f1d2c3b-8a47-4c5e-b1a0-9d3e7f2c4b5a',
    'grantor grants revoke --wallet 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  ],
  program: 'grants',
  async run({ options }, environment) {
    const wallet = walletFrom(options.wallet)
    const { grant: grantId, client: clientId } = options
    if ((grantId === undefined) === (wallet === undefined))
      throw new UsageError(['name either --grant or --wallet', 'See: grantor grants revoke --help'])
    if (clientId !== undefined && wallet === undefined) throw new UsageError('--client can only be used with --wallet')
    const ended = await withStore(settingsFor('grants', environment, options.data), environment, async (store, now) => {
      const count =
        wallet === undefined
          ? await endByName(store, grantId ?? '', now())
          : await endGrantsOfWallet(store, wallet, clientId, now())
      const ending =
        wallet === undefined
          ? ({ event: 'grant_ended', reason: 'operator', grantId } as const)
          : ({ event: 'grants_ended', reason: 'operator', wallet, clientId, details: { grants: count } } as const)
      // Ending the grants of a wallet also voids its codes and logins, so that act is recorded even if no grant ended.
      if (count > 0 || wallet !== undefined) await recordAct(store, environment, { ...ending, at: now() })
      return count
    })
    if (options.json) environment.print(JSON.stringify({ grants_ended: ended }))
    else environment.print(ended === 0 ? 'There was nothing to end.' : `Ended ${counted(ended, 'grant')}.`)
    return EXIT.done
  },
})

async function endByName(store: Store, grantId: string, at: number): Promise<number> {
  const outcome = await endOneGrant(store, grantId, at)
  if (outcome === 'unknown') throw new CommandError(`there is no grant "${grantId}"; see: grantor grants list`)
  return outcome === 'ended' ? 1 : 0
}
