import { rotateKey } from '../../domain/maintenance/keep-keys.ts'
import type { KeyKind } from '../../keys/key-ring.ts'
import { checkSigning } from '../compose/check-signing.ts'
import { recordAct } from '../compose/record-act.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { checkSecret, keyKeeping, withStore } from '../compose/with-store.ts'
import { CommandError, defineCommand, EXIT } from '../terminal/command.ts'
import { time } from '../terminal/print.ts'

export const keysRotate = defineCommand({
  name: 'keys rotate',
  words: 'Makes the next key of a kind. It is announced for 60 seconds, then it takes over.',
  about: [
    'The running service rotates keys by age (GRANTOR_KEY_ROTATION_DAYS); this command rotates them earlier. Nothing stops working: the earlier key opens what it made until all of that has expired. For a leaked key: grantor keys retire --at-once.',
  ],
  options: {
    kind: {
      value: 'KIND',
      repeatable: true,
      choices: ['sign', 'sign_es256', 'sign_rs256', 'sign_eddsa', 'seal', 'mac'],
      words: 'sign, sign_es256, sign_rs256, sign_eddsa, seal or mac; sign unless given.',
    },
    data: dataOption,
    json: jsonOption,
  },
  examples: ['grantor keys rotate', 'grantor keys rotate --kind seal --kind mac'],
  program: 'keys',
  async run({ options }, environment) {
    const kinds = (options.kind.length > 0 ? [...new Set(options.kind)] : ['sign']) as KeyKind[]
    const settings = settingsFor('keys', environment, options.data)
    const made = await withStore(settings, environment, async (store, now) => {
      if (kinds.includes('sign')) await checkSigning(settings, store)
      const keeping = keyKeeping(settings, store, now)
      await checkSecret(keeping)
      return Promise.all(
        kinds.map(async (kind) => {
          const key = await rotateKey(keeping, kind)
          if (key === 'taken') throw new CommandError(`another process made a ${kind} key just now; see: grantor keys list`)
          await recordAct(store, environment, { event: 'key_made', reason: kind, at: now(), keyId: key.id })
          return key
        }),
      )
    })
    if (options.json)
      environment.print(JSON.stringify(made.map(({ id, kind, startsAt }) => ({ key_id: id, kind, starts_at: startsAt }))))
    else
      for (const { id, kind, startsAt } of made) environment.print(`Made ${kind} key ${id}; it takes over at ${time(startsAt)}.`)
    return EXIT.done
  },
})
