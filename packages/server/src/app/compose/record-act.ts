/** Records the act of a command in the audit trail, with the name of the operating system's user. */
import { userInfo } from 'node:os'
import { appendEntries } from '../../domain/audit/chain.ts'
import { entryOfEvent } from '../../domain/audit/entry.ts'
import type { Store } from '../../domain/model/store.ts'
import type { Act } from '../../operators/operations/service.ts'
import type { CommandEnvironment } from '../../operators/terminal/command.ts'

type ActEnvironment = Pick<CommandEnvironment, 'env' | 'printError'>
type DatedAct = Act & { at: number }

/** Call this after the change. If the line cannot be written, the change stays, and the operator reads that its line is missing. */
export function recordAct(store: Pick<Store, 'audit'>, environment: ActEnvironment, act: DatedAct): Promise<void> {
  return recordActs(store, environment, [act])
}

/** The same for several changes. Their lines are appended together, in this order. */
export async function recordActs(
  store: Pick<Store, 'audit'>,
  { env, printError }: ActEnvironment,
  acts: readonly DatedAct[],
): Promise<void> {
  // `sudo` sets SUDO_USER to the user who ran `sudo`. A user can also set this variable, so its value is only a detail of the line.
  const sudo = env.SUDO_USER ? { sudo_user: env.SUDO_USER } : {}
  const operator = operatorName()
  try {
    const entries = acts.map(({ at, ...act }) =>
      entryOfEvent({ ...act, operator, details: { ...act.details, ...sudo } }, () => ({
        at,
        requestId: undefined,
        network: undefined,
      })),
    )
    await appendEntries(
      store.audit,
      entries.filter((entry) => entry !== null),
    )
  } catch (error) {
    const missing =
      acts.length === 1 ? 'The change was made, but its line is' : `${acts.length} changes were made, but their lines are`
    printError(`${missing} missing in the audit trail: ${error instanceof Error ? error.message : String(error)}`)
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
