import { OPERATOR_ROLES, type OperatorRole } from '../../domain/model/records.ts'
import { OPERATORS_AT_MOST, setOperator, walletOrClientOf } from '../../domain/operators/operators.ts'
import { recordAct } from '../compose/record-act.ts'
import { dataOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { OPERATOR_OPERAND, operatorFrom } from '../operators/operator-operand.ts'
import { CommandError, defineCommand, EXIT, UsageError } from '../terminal/command.ts'

export const operatorsAdd = defineCommand({
  name: 'operators add',
  words: 'Lets a wallet or a client use the admin API, or changes the role.',
  about: [
    'Roles: owner may do everything. operator may do everything except change operators. auditor may read everything and change nothing. The first operator must be an owner.',
    'A person signs in with the wallet. A program is a registered client that authenticates by private_key_jwt or uses DPoP, with the client credentials grant, the admin API as its resource, and the scopes that it needs.',
  ],
  operands: [OPERATOR_OPERAND],
  options: {
    role: { value: 'ROLE', choices: OPERATOR_ROLES, words: 'owner, operator or auditor. Required.' },
    data: dataOption,
  },
  examples: [
    'grantor operators add 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 --role owner',
    'grantor operators add 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20 --role auditor',
  ],
  program: 'clients',
  async run({ options, operands: [text = ''] }, environment) {
    const id = operatorFrom(text)
    if (options.role === undefined)
      throw new UsageError(['--role is missing: owner, operator or auditor', 'See: grantor operators add --help'])
    const role = options.role as OperatorRole
    const outcome = await withStore(settingsFor('clients', environment, options.data), environment, async (store, now) => {
      if (!id.startsWith('0x') && !(await store.clients.readClient(id)))
        throw new CommandError(`no client is registered as "${id}"; see: grantor clients list`)
      const set = await setOperator(store, { id, role, at: now() })
      if (set.kind === 'done') {
        const event = set.isNew ? 'operator_added' : 'operator_changed'
        await recordAct(store, environment, { event, at: now(), ...walletOrClientOf(id), details: { role } })
      }
      return set
    })
    if (outcome.kind === 'done') {
      environment.print(`${id} is ${role} now.`)
      return EXIT.done
    }
    switch (outcome.why) {
      case 'first_must_be_owner':
        throw new CommandError('the first operator must be an owner: add one with --role owner')
      case 'last_owner':
        throw new CommandError('this is the last owner: first add another operator with --role owner')
      default:
        throw new CommandError(`there are ${OPERATORS_AT_MOST} operators already`)
    }
  },
})
