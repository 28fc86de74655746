/** The page of audit events, from the table of audit events. */
import { auditEvents } from '../../packages/server/src/domain/model/audit-events.ts'
import { table } from './errors-page.ts'

export function eventsPage(): string {
  const events = Object.entries(auditEvents).map(([name, event]) => ({ name: `\`${name}\``, ...event }))
  return [
    INTRODUCTION,
    '## In the audit trail',
    TRAIL,
    table(
      ['event', 'meaning', 'by an operator', 'awaited'],
      events
        .filter(({ recorded }) => recorded)
        .map(({ name, means, act, awaited }) => [name, means, act ? 'yes' : '', WORDS[`${awaited ?? 'no'}`]]),
    ),
    '## In the log only',
    LOG,
    table(
      ['event', 'meaning'],
      events.filter(({ recorded }) => !recorded).map(({ name, means, alarm }) => [name, alarm ? `Alarm. ${means}` : means]),
    ),
  ]
    .join('\n\n')
    .concat('\n')
}

const INTRODUCTION = `# Audit events

For operators and auditors who read the log or the [audit trail](../operating/audit.md), and for developers of webhook receivers.

Each event of a request or of background work is a line of a server's log, with \`"log":"audit"\`. Acts of commands, \`audit_head_signed\`
and \`audit_lines_deleted\` are only in the trail.`

const TRAIL = `These events are also lines of the trail. "By an operator": an operator can cause the event with the admin API or a command. "Awaited":
the response to a request that causes the event is sent when the line is committed, or after two seconds if the line cannot be stored.`

const LOG = 'An alarm is a line of level `error` with the message `alarm` ([audit.md](../operating/audit.md#alarms)).'

const WORDS = { true: 'yes', no: '', unless_revoked: 'unless the reason is `revoked`' } as const
