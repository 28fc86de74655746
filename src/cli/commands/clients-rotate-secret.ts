import { rotateSecret } from '../../domain/clients/manage-clients.ts'
import { registeredJson } from '../clients/client-print.ts'
import { CLIENT_OPERAND, unknownClient } from '../clients/find-client.ts'
import { recordAct } from '../compose/record-act.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { CommandError, defineCommand, EXIT, UsageError } from '../terminal/command.ts'
import { time } from '../terminal/print.ts'

export const clientsRotateSecret = defineCommand({
  name: 'clients rotate-secret',
  words: 'Gives a client a new secret; the present one stays valid for a while.',
  about: [
    'At most two secrets are valid at a time. For a leaked secret use --overlap 0: then only the new secret is valid, at once. With --json the object of clients create is printed.',
  ],
  operands: [CLIENT_OPERAND],
  options: {
    overlap: {
      value: 'SECONDS',
      words: 'How long the present secret stays valid: 86400 (a day) unless given, at most 2592000 (30 days).',
    },
    data: dataOption,
    json: jsonOption,
  },
  examples: ['grantor clients rotate-secret 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20 --overlap 3600'],
  program: 'clients',
  async run({ options, operands: [clientId = ''] }, environment) {
    const overlap = seconds(options.overlap ?? '86400')
    const { outcome, at } = await withStore(
      settingsFor('clients', environment, options.data),
      environment,
      async (store, now) => {
        const at = now()
        const outcome = await rotateSecret(store, clientId, { overlap, at })
        if (outcome.kind === 'rotated')
          await recordAct(store, environment, { event: 'client_secret_rotated', at, clientId, details: { overlap } })
        return { outcome, at }
      },
    )
    if (outcome.kind === 'unknown') throw unknownClient(clientId)
    if (outcome.kind === 'has_no_secret') throw new CommandError(outcome.because)
    const { client, secret } = outcome
    if (options.json) {
      environment.print(registeredJson(client, secret))
      return EXIT.done
    }
    environment.print(`  client_secret  ${secret}\n\nThe secret is shown only once; store it now.`)
    environment.print(
      overlap === 0 ? 'The earlier secrets are no longer valid.' : `The earlier secret is valid until ${time(at + overlap)}.`,
    )
    return EXIT.done
  },
})

function seconds(text: string): number {
  const value = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN
  if (value <= 2_592_000) return value
  throw new UsageError(`--overlap must be a whole number of seconds from 0 to 2592000, not "${text}"`)
}
