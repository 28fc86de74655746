import { removeOperator, walletOrClientOf } from '../../domain/operators/operators.ts'
import { recordAct } from '../compose/record-act.ts'
import { dataOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { OPERATOR_OPERAND, operatorFrom } from '../operators/operator-operand.ts'
import { CommandError, defineCommand, EXIT } from '../terminal/command.ts'

export const operatorsRemove = defineCommand({
  name: 'operators remove',
  words: 'Removes an operator. Tokens and console sessions of the operator stop working with the next request.',
  about: ['The last owner cannot be removed.'],
  operands: [OPERATOR_OPERAND],
  options: { data: dataOption },
  examples: ['grantor operators remove 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
  program: 'clients',
  async run({ options, operands: [text = ''] }, environment) {
    const id = operatorFrom(text)
    const outcome = await withStore(settingsFor('clients', environment, options.data), environment, async (store, now) => {
      const removed = await removeOperator(store, id)
      if (removed.kind === 'done')
        await recordAct(store, environment, { event: 'operator_removed', at: now(), ...walletOrClientOf(id) })
      return removed
    })
    if (outcome.kind === 'done') {
      environment.print(`${id} is no operator any more.`)
      return EXIT.done
    }
    throw new CommandError(
      outcome.why === 'unknown'
        ? `"${id}" is no operator; see: grantor operators list`
        : 'this is the last owner: first add another operator with --role owner',
    )
  },
})
