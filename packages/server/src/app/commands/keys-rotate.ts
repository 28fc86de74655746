import { KEY_KINDS, rotateKey, type ShownKey } from '../../operators/operations/keys.ts'
import { defineCommand, EXIT } from '../../operators/terminal/command.ts'
import { time } from '../../operators/terminal/print.ts'
import type { KeyKind } from '../../protocol/keys/key-ring.ts'
import { runOperation } from '../compose/operation-command.ts'
import { dataOption, jsonOption } from '../compose/settings.ts'

export const keysRotate = defineCommand({
  name: 'keys rotate',
  words: rotateKey.summary,
  about:
    'The running service rotates keys by age (GRANTOR_KEY_ROTATION_DAYS); this command rotates them earlier. The new key is announced for 60 seconds before the first use. Nothing stops working: the earlier key opens everything that was made with it until all of that has expired. For a leaked key: grantor keys retire --at-once.',
  options: {
    kind: {
      value: 'KIND',
      words: 'sign, sign_es256, sign_rs256, sign_eddsa, seal or mac; sign unless given.',
      repeatable: true,
      choices: KEY_KINDS,
    },
    data: dataOption,
    json: jsonOption,
  },
  examples: ['grantor keys rotate', 'grantor keys rotate --kind seal --kind mac'],
  program: 'keys',
  async run({ options }, environment) {
    const kinds = new Set<string>(options.kind.length > 0 ? options.kind : ['sign' satisfies KeyKind])
    const made: Pick<ShownKey, 'key_id' | 'kind' | 'starts_at'>[] = []
    for (const each of kinds) {
      const input = { kind: each }
      const { key_id, kind, starts_at } = await runOperation(rotateKey, { input, data: options.data }, environment)
      made.push({ key_id, kind, starts_at })
    }
    if (options.json) environment.print(JSON.stringify(made))
    else
      for (const { key_id, kind, starts_at } of made)
        environment.print(`Made ${kind} key ${key_id}; it takes over at ${time(starts_at)}.`)
    return EXIT.done
  },
})
