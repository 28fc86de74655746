/** Every command, in the order of `grantor --help`: first those of one word, then the groups, each with its list first. */

import { subjects } from '../operators/operations/all.ts'
import { needsNoServer } from '../operators/operations/operation.ts'
import type { CommandEntry } from '../operators/terminal/command.ts'
import { commandName, commandOf } from './compose/operation-command.ts'
import { ownCommands } from './own-commands.ts'

const ofOperations = subjects
  .flatMap(({ operations }) => operations.filter(needsNoServer))
  .flatMap((operation): CommandEntry[] => {
    const { command } = operation
    return command ? [{ name: commandName(operation), load: async () => commandOf(operation, command) }] : []
  })

const isSingle = ({ name }: CommandEntry): boolean => !name.includes(' ')
const isList = ({ name }: CommandEntry): boolean => name.endsWith(' list')
const inGroups = [
  ...ofOperations.filter(isList),
  ...ownCommands.filter((entry) => !isSingle(entry)),
  ...ofOperations.filter((entry) => !isList(entry)),
]

export const commands: readonly CommandEntry[] = [
  ...ownCommands.filter(isSingle),
  ...subjects.flatMap(({ name: group }) => inGroups.filter(({ name }) => name.startsWith(`${group} `))),
]
