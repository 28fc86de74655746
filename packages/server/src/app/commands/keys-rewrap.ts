import { rewrapKeys } from '../../domain/maintenance/keep-keys.ts'
import type { Store } from '../../domain/model/store.ts'
import { CommandError, defineCommand, EXIT } from '../../operators/terminal/command.ts'
import { formatCount } from '../../operators/terminal/print.ts'
import type { KeyWrap } from '../../protocol/keys/key-wrap.ts'
import { recordAct } from '../compose/record-act.ts'
import { keySettings } from '../compose/service-settings.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { keyKeeping, withStore } from '../compose/with-store.ts'

export const keysRewrap = defineCommand({
  name: 'keys rewrap',
  words: 'Wraps every stored key with GRANTOR_SECRET instead of GRANTOR_SECRET_PREVIOUS.',
  about:
    'Run it while the servers run, once all of them have both secrets. Nothing stops working. It may be interrupted and repeated. Afterwards remove GRANTOR_SECRET_PREVIOUS. The whole procedure: docs/operating/keys.md, "Changing a secret".',
  options: { data: dataOption, json: jsonOption },
  examples: ['grantor keys rewrap'],
  program: 'keys',
  async run({ options }, environment) {
    const settings = settingsFor('keys', environment, options.data)
    const rewrapped: { key_id: string; kind: string }[] = []
    const { current, left } = await withStore(settings, environment, async (store, now) => {
      const outcome = await rewrapKeys(keyKeeping(settings, store, now), ({ id, kind }) => {
        rewrapped.push({ key_id: id, kind })
        if (!options.json) environment.print(`Rewrapped ${kind} key ${id}.`)
      })
      await rewrapWebhooks(store, keySettings(settings).wrap)
      if (rewrapped.length > 0)
        await recordAct(store, environment, { event: 'keys_rewrapped', at: now(), details: { keys: rewrapped.length } })
      return outcome
    })
    if (options.json) environment.print(JSON.stringify({ rewrapped, wrapped_with_secret: current, wrapped_with_previous: left }))
    else
      environment.print(
        `${formatCount(rewrapped.length, 'key')} rewrapped; ${formatCount(current, 'key')} wrapped with GRANTOR_SECRET.`,
      )
    if (left === 0) return EXIT.done
    throw new CommandError(
      `${formatCount(left, 'key')} wrapped with GRANTOR_SECRET_PREVIOUS meanwhile: give every server the new secret, then run this again`,
    )
  },
})

/** The secrets of webhooks are wrapped like keys. */
async function rewrapWebhooks({ webhooks }: Pick<Store, 'webhooks'>, wrap: KeyWrap): Promise<void> {
  for (const { id, secret } of await webhooks.listWebhooks()) {
    const wrapped = Buffer.from(secret, 'base64url')
    const material = wrap.unwrap(wrapped, id, 'webhook')
    if (!material || wrap.isCurrent(wrapped, id, 'webhook')) continue
    await webhooks.rewrapWebhook(id, secret, Buffer.from(wrap.wrap(material, id, 'webhook')).toString('base64url'))
  }
}
