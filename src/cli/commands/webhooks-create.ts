import { randomUUID } from 'node:crypto'
import { nearest } from '../../config/nearest.ts'
import { LINE_EVENTS } from '../../domain/audit/recorded-events.ts'
import { newWebhookSecret, webhookSecretText } from '../../domain/audit/webhook-message.ts'
import { calledUriFault } from '../../domain/clients/client-called-uri.ts'
import { WEBHOOKS_AT_MOST } from '../../domain/model/webhook-store.ts'
import { recordAct } from '../compose/record-act.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { checkSecret, keyKeeping, withStore } from '../compose/with-store.ts'
import { CommandError, defineCommand, EXIT, UsageError } from '../terminal/command.ts'

export const webhooksCreate = defineCommand({
  name: 'webhooks create',
  words: 'Sends each new line of the audit trail to an address, signed (Standard Webhooks).',
  about: [
    'The lines are sent in their order, from the next line on. A line is sent again until the receiver responds with a status from 200 to 299. After a day of failures the endpoint is paused: grantor webhooks resume. Redirects and private addresses are refused.',
    'The secret is printed once. With --json one object is printed: {"webhook_id","url","events","secret"}.',
  ],
  operands: [{ name: 'URL', words: 'The https address of the receiver.' }],
  options: {
    event: { value: 'EVENT', repeatable: true, words: 'Only this event, such as grant_ended; every event unless given.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: ['grantor webhooks create https://siem.example.com/grantor --event grant_ended --event session_started'],
  program: 'keys',
  async run({ options, operands: [url = ''] }, environment) {
    const faults = [addressFault(url, { isDevelopment: options.data !== undefined }), ...options.event.map(eventFault)].filter(
      (fault) => fault !== null,
    )
    if (faults.length > 0) throw new UsageError(faults)
    const settings = settingsFor('keys', environment, options.data)
    const [id, secret, events] = [randomUUID(), newWebhookSecret(), [...new Set(options.event)]]
    await withStore(settings, environment, async (store, now) => {
      const keeping = keyKeeping(settings, store, now)
      await checkSecret(keeping)
      const wrapped = Buffer.from(keeping.wrap.wrap(secret, id, 'webhook')).toString('base64url')
      const { seq: cursor } = await store.audit.readHead()
      const at = now()
      const progress = { cursor, failingSince: null, nextAt: 0, pausedAt: null }
      const outcome = await store.webhooks.insertWebhook({ id, url, secret: wrapped, events, createdAt: at, ...progress })
      if (outcome === 'full')
        throw new CommandError(`${WEBHOOKS_AT_MOST} webhooks exist, which is the most; see: grantor webhooks delete --help`)
      const details = { webhook_id: id, host: new URL(url).host, ...(events.length > 0 ? { events: events.join(' ') } : {}) }
      await recordAct(store, environment, { event: 'webhook_created', at, details })
    })
    if (options.json) environment.print(JSON.stringify({ webhook_id: id, url, events, secret: webhookSecretText(secret) }))
    else
      environment.print(
        `  webhook_id  ${id}\n  secret      ${webhookSecretText(secret)}\n\nThe secret is shown only once; store it now.`,
      )
    return EXIT.done
  },
})

/** `grantor start` (`--data`) also sends to plain http on this machine. */
function addressFault(url: string, { isDevelopment }: { isDevelopment: boolean }): string | null {
  const fault = calledUriFault(url)
  if (fault !== null) return `URL ${fault}`
  if (new URL(url).protocol === 'http:' && !isDevelopment)
    return 'URL is plain http; grantor serve sends to https addresses only.'
  return null
}

/** A webhook for an event that no line has would never send anything. */
function eventFault(event: string): string | null {
  if (LINE_EVENTS.has(event)) return null
  const meant = nearest(event, [...LINE_EVENTS])
  return `"${event}" is not an event of the trail${meant ? `; did you mean ${meant}?` : ''}`
}
