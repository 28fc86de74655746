/** Runs one operation for a command that is more than the operation. */
import { subjectOf } from '../../operations/all.ts'
import type { Members } from '../../operations/members/member.ts'
import { matcher, type Operation, perform } from '../../operations/operation.ts'
import { withService } from '../compose/command-service.ts'
import type { CommandEnvironment } from '../terminal/command.ts'
import { commandErrorOf } from './refusal-lines.ts'

type Given = { id?: string; input?: Members; data: string | undefined }

export async function runOperation<Output>(
  operation: Operation<never, Output>,
  { id = '', input = {}, data }: Given,
  environment: CommandEnvironment,
): Promise<Output> {
  const program = subjectOf(operation.subject).settings
  try {
    return await withService({ program, data, keys: 'make' }, environment, async (service, actor) => {
      const page = { limit: 1, after: undefined }
      const call = { service, actor, id, input, page, requireMatch: matcher(undefined), idempotencyKey: undefined }
      return (await perform(operation, call)).output
    })
  } catch (error) {
    throw commandErrorOf(error)
  }
}
