/** Records what operators do. */
import type { AuditEvent } from '../domain/model/deps.ts'
import type { Operator } from '../domain/model/records.ts'
import { shortenAddress } from '../wallet/address.ts'
import type { Admin } from './admin.ts'

/** `event` is the act, such as `client_created`. */
export function recordAct({ deps }: Pick<Admin, 'deps'>, operator: Operator, event: AuditEvent): void {
  deps.audit({ ...event, operator: operator.id.startsWith('0x') ? shortenAddress(operator.id) : operator.id })
}
