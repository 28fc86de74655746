/** Records the act of a command in the audit trail, with the name of the operating system's user. */
import { userInfo } from 'node:os'
import { appendEntry } from '../../domain/audit/chain.ts'
import { entryOfEvent } from '../../domain/audit/entry.ts'
import type { Store } from '../../domain/model/store.ts'
import type { Act } from '../../operations/service.ts'
import type { CommandEnvironment } from '../terminal/command.ts'

/** Call this after the change. If the line cannot be written, the change stays, and the operator reads that its line is missing. */
export async function recordAct(
  store: Pick<Store, 'audit'>,
  { env, printError }: Pick<CommandEnvironment, 'env' | 'printError'>,
  { at, ...act }: Act & { at: number },
): Promise<void> {
  // `sudo` sets SUDO_USER to the user who ran `sudo`. A user can also set this variable, so its value is only a detail of the line.
  const sudo = env.SUDO_USER ? { sudo_user: env.SUDO_USER } : {}
  const event = { ...act, operator: operatorName(), details: { ...act.details, ...sudo } }
  try {
    const entry = entryOfEvent(event, () => ({ at, requestId: undefined, network: undefined }))
    if (entry) await appendEntry(store.audit, entry)
  } catch (error) {
    printError(
      `The change was made, but its line is missing in the audit trail: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

/** The user who runs the command, as the trail names it. */
export function operatorName(): string {
  return `cli:${userName()}`
}

/** A user id without an entry in the user database, as in many containers, has no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`
  }
}
