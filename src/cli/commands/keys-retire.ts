import { retireKey } from '../../grants/keep-keys.ts'
import { defineCommand, EXIT, Failure } from '../command.ts'
import { checkSecret, keyKeeping, withStore } from '../compose.ts'
import { time } from '../print.ts'
import { dataOption, settingsFor } from '../settings.ts'

export const keysRetire = defineCommand({
  name: 'keys retire',
  words: 'Forgets a key for good. Keys that have outlived all they made are retired by the running service on its own.',
  about: [
    'Refused while the key is in use or something it made may still be alive. For a key that leaked say --at-once: a new key takes over immediately, and whatever the old one made stops working: access tokens (sign), codes and logins under way (seal), refresh tokens and logins under way (mac).',
  ],
  operands: [{ name: 'KEY_ID', words: 'The key, as grantor keys list names it.' }],
  options: { 'at-once': { words: 'Retires it now, with everything it made.' }, data: dataOption },
  examples: ['grantor keys retire 9f3a1c07be', 'grantor keys retire 9f3a1c07be --at-once'],
  program: 'keys',
  async run({ options, operands: [keyId = ''] }, world) {
    const settings = settingsFor('keys', world, options.data)
    const outcome = await withStore(settings, world, async (store, now) => {
      const keeping = keyKeeping(settings, store, now)
      await checkSecret(keeping)
      return retireKey(keeping, keyId, options['at-once'])
    })
    switch (outcome.kind) {
      case 'unknown':
        throw new Failure(`there is no living key "${keyId}"; see: grantor keys list`)
      case 'still_makes':
        throw new Failure('this key is in use: first grantor keys rotate, or say --at-once if it leaked')
      case 'still_opens':
        throw new Failure(`what this key made may live until ${time(outcome.until)}; wait, or say --at-once if it leaked`)
      case 'retired':
        world.print(`Retired ${keyId}.`)
        return EXIT.done
    }
  },
})
