/** An operator as typed in a command: the address of a wallet, or a client id. */
import { operatorIdOf } from '../../domain/operators/operators.ts'
import { UsageError } from '../terminal/command.ts'

export const OPERATOR_OPERAND = {
  name: 'OPERATOR',
  words: 'The address of a wallet (0x and 40 hexadecimal digits), or the id of a registered client.',
} as const

/** The id in its normalized form. */
export function operatorFrom(text: string): string {
  const id = operatorIdOf(text)
  if (id !== null) return id
  throw new UsageError(
    'an operator is the address of a wallet, 0x and 40 hexadecimal digits with the right checksum (EIP-55), or the id of a client',
  )
}
