/**
 * Who did what to which grant, and why a request was refused: one line per event, for the investigation of an incident.
 * If a request caused the line, the line has the request's id, the first part of the caller's address, and the id of the trace if the request
 * is traced.
 */

import type { Logger } from './logger.ts'
import { currentNetwork, currentRequestId, currentTraceId } from './request-log.ts'

/** `Name`: the names of the events. The caller has their table. */
export type LoggedEvent<Name extends string = string> = { event: Name; [member: string]: string | undefined }

/** `alarm`: the line is of level `error`, so that an operator is alerted. `lasting`: see `createAuditLog`. */
type Traits = { alarm?: true; lasting?: true }

const LOUDER = ['warn', 'error', 'fatal']

/**
 * Audit lines contain `"log":"audit"` and are written at every log level except `silent`. Lines of the `lasting` events
 * have left the process when the call returns, so a crash cannot lose them.
 */
export function createAuditLog<Name extends string>(
  logger: Logger,
  events: Readonly<Record<Name, Traits>>,
): (event: LoggedEvent<Name>) => void {
  const level = LOUDER.includes(logger.level) ? 'info' : logger.level
  const audit = logger.child({ log: 'audit' }, { level })
  return (named) => {
    const event = {
      ...named,
      request_id: named.request_id ?? currentRequestId(),
      network: named.network ?? currentNetwork(),
      trace_id: currentTraceId(),
    }
    const { alarm, lasting } = events[named.event]
    if (alarm) audit.error({ ...event, alarm }, 'alarm')
    else audit.info(event, 'audit')
    if (lasting) audit.flush()
  }
}
