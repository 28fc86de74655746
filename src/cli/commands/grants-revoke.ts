import { endGrantsOfWallet, endOneGrant } from '../../grants/end-grants.ts'
import type { Store } from '../../grants/ports.ts'
import { defineCommand, EXIT, Failure, UsageFailure } from '../command.ts'
import { withStore } from '../compose.ts'
import { counted } from '../print.ts'
import { dataOption, jsonOption, settingsFor } from '../settings.ts'
import { walletFrom } from '../wallet-option.ts'

export const grantsRevoke = defineCommand({
  name: 'grants revoke',
  words: 'Ends one grant, or everything a wallet allowed; its tokens are inactive from then on.',
  about: [
    'Name either --grant, or --wallet, which also voids codes and logins under way; with --client only what the wallet allowed to that client. To stop a client for everybody: grantor clients disable, or delete.',
  ],
  options: {
    grant: { value: 'GRANT_ID', words: 'The grant, as grantor grants list names it.' },
    wallet: { value: 'ADDRESS', words: 'Everything this wallet allowed.' },
    client: { value: 'CLIENT_ID', words: 'Together with --wallet: only what it allowed to this client.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: [
    'grantor grants revoke --grant 6f1d2c3b-8a47-4c5e-b1a0-9d3e7f2c4b5a',
    'grantor grants revoke --wallet 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  ],
  program: 'grants',
  async run({ options }, world) {
    const wallet = walletFrom(options.wallet)
    const { grant: grantId, client: clientId } = options
    if ((grantId === undefined) === (wallet === undefined))
      throw new UsageFailure(['name either --grant or --wallet', 'See: grantor grants revoke --help'])
    if (clientId !== undefined && wallet === undefined) throw new UsageFailure('--client goes together with --wallet')
    const ended = await withStore(settingsFor('grants', world, options.data), world, (store, now) =>
      wallet === undefined ? endByName(store, grantId ?? '', now()) : endGrantsOfWallet(store, wallet, clientId, now()),
    )
    if (options.json) world.print(JSON.stringify({ grants_ended: ended }))
    else world.print(ended === 0 ? 'Nothing was left to end.' : `Ended ${counted(ended, 'grant')}.`)
    return EXIT.done
  },
})

async function endByName(store: Store, grantId: string, at: number): Promise<number> {
  const outcome = await endOneGrant(store, grantId, at)
  if (outcome === 'unknown') throw new Failure(`there is no grant "${grantId}"; see: grantor grants list`)
  return outcome === 'ended' ? 1 : 0
}
