import { retireKey } from '../../domain/maintenance/keep-keys.ts'
import { recordAct } from '../compose/record-act.ts'
import { dataOption, settingsFor } from '../compose/settings.ts'
import { checkSecret, keyKeeping, withStore } from '../compose/with-store.ts'
import { CommandError, defineCommand, EXIT } from '../terminal/command.ts'
import { time } from '../terminal/print.ts'

export const keysRetire = defineCommand({
  name: 'keys retire',
  words: 'Deletes a key permanently. The running service itself retires keys when everything that they made has expired.',
  about: [
    'Refused while the key is in use or something that it made may still be valid. For a leaked key use --at-once: a new key takes over immediately, and everything that the old key made stops working: access tokens (sign), codes and logins in progress (seal), refresh tokens and logins in progress (mac).',
  ],
  operands: [{ name: 'KEY_ID', words: 'The id of the key, from grantor keys list.' }],
  options: { 'at-once': { words: 'Retires the key now, with everything that it made.' }, data: dataOption },
  examples: ['grantor keys retire 9f3a1c07be', 'grantor keys retire 9f3a1c07be --at-once'],
  program: 'keys',
  async run({ options, operands: [keyId = ''] }, environment) {
    const settings = settingsFor('keys', environment, options.data)
    const outcome = await withStore(settings, environment, async (store, now) => {
      const keeping = keyKeeping(settings, store, now)
      await checkSecret(keeping)
      const outcome = await retireKey(keeping, keyId, { atOnce: options['at-once'] })
      const details = options['at-once'] ? { at_once: 'yes' } : {}
      if (outcome.kind === 'retired') await recordAct(store, environment, { event: 'key_retired', at: now(), keyId, details })
      return outcome
    })
    switch (outcome.kind) {
      case 'unknown':
        throw new CommandError(`there is no living key "${keyId}"; see: grantor keys list`)
      case 'still_makes':
        throw new CommandError('this key is in use: first run grantor keys rotate, or use --at-once if it leaked')
      case 'still_opens':
        throw new CommandError(
          `what this key made may be valid until ${time(outcome.until)}; wait, or use --at-once if it leaked`,
        )
      case 'retired':
        environment.print(`Retired ${keyId}.`)
        return EXIT.done
    }
  },
})
