import { keyState, opensUntil } from '../../domain/maintenance/keep-keys.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { keyKeeping, withStore } from '../compose/with-store.ts'
import { defineCommand, EXIT } from '../terminal/command.ts'
import { columns, time } from '../terminal/print.ts'

export const keysList = defineCommand({
  name: 'keys list',
  words: 'Lists the keys in the store with their states; never the keys themselves.',
  about: [
    'Kinds: sign (access tokens), sign_es256, sign_rs256 and sign_eddsa (ID tokens and other statements to clients that are registered for another algorithm), seal (codes and login challenges), mac (refresh tokens and new sessions). States: announced (published, not used yet), makes (in use), opens (only checks what it made), retired.',
  ],
  options: { data: dataOption, json: jsonOption },
  examples: ['grantor keys list'],
  program: 'keys',
  async run({ options }, environment) {
    const settings = settingsFor('keys', environment, options.data)
    const rows = await withStore(settings, environment, async (store, now) => {
      const keeping = keyKeeping(settings, store, now)
      const records = await store.keys.listKeys()
      return records.map((key) => ({
        key,
        state: keyState(keeping, records, key),
        opensUntil: opensUntil(keeping, records, key),
      }))
    })
    if (options.json) {
      environment.print(
        JSON.stringify(
          rows.map(({ key, state, opensUntil: until }) => ({
            key_id: key.id,
            kind: key.kind,
            number: key.number,
            algorithm: key.algorithm,
            state,
            created_at: key.createdAt,
            starts_at: key.startsAt,
            opens_until: until,
            retired_at: key.retiredAt,
          })),
        ),
      )
    } else if (rows.length === 0) environment.print('There is no key yet: grantor serve makes the first ones.')
    else {
      const cells = rows.map(({ key, state, opensUntil: until }) => [
        key.id,
        key.kind,
        key.algorithm,
        state,
        time(key.createdAt),
        state === 'opens' && until !== null ? time(until) : '',
      ])
      for (const line of columns(['KEY_ID', 'KIND', 'ALGORITHM', 'STATE', 'CREATED', 'OPENS UNTIL'], cells))
        environment.print(line)
    }
    return EXIT.done
  },
})
