import { endGrant, endGrantsOfWallet } from '../../operators/operations/grants.ts'
import { defineCommand, EXIT, UsageError } from '../../operators/terminal/command.ts'
import { formatCount } from '../../operators/terminal/print.ts'
import { walletFrom } from '../../operators/terminal/wallet-option.ts'
import { runOperation } from '../compose/operation-command.ts'
import { dataOption, jsonOption } from '../compose/settings.ts'

export const grantsRevoke = defineCommand({
  name: 'grants revoke',
  words: 'Ends one grant, or all grants of a wallet. Their tokens are inactive from then on.',
  about:
    'Name either --grant or --wallet. --wallet also voids codes and sign-ins in progress; with --client it ends only the grants to that client. To stop a client for all users: grantor clients disable, or delete.',
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
    const { grant: id, client: client_id } = options
    if ((id === undefined) === (wallet === undefined))
      throw new UsageError(['name either --grant or --wallet', 'See: grantor grants revoke --help'])
    if (client_id !== undefined && wallet === undefined) throw new UsageError('--client can only be used with --wallet')
    const input = { wallet, ...(client_id !== undefined && { client_id }) }
    const ended =
      id === undefined
        ? (await runOperation(endGrantsOfWallet, { input, data: options.data }, environment)).grants_ended
        : (await runOperation(endGrant, { id, data: options.data }, environment)) === 'ended'
          ? 1
          : 0
    if (options.json) environment.print(JSON.stringify({ grants_ended: ended }))
    else environment.print(ended === 0 ? 'There was nothing to end.' : `Ended ${formatCount(ended, 'grant')}.`)
    return EXIT.done
  },
})
