import { readOperators } from '../../domain/operators/operators.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { defineCommand, EXIT } from '../terminal/command.ts'
import { columns, time } from '../terminal/print.ts'

export const operatorsList = defineCommand({
  name: 'operators list',
  words: 'Lists the wallets and clients that may use the admin API.',
  options: { data: dataOption, json: jsonOption },
  examples: ['grantor operators list'],
  program: 'clients',
  async run({ options }, environment) {
    const operators = await withStore(settingsFor('clients', environment, options.data), environment, readOperators)
    const rows = operators.map(({ id, role, createdAt }) => ({ operator: id, role, created_at: createdAt }))
    if (options.json) environment.print(JSON.stringify(rows))
    else if (rows.length === 0) environment.print('There is no operator yet: grantor operators add --help')
    else {
      const cells = rows.map((row) => [row.operator, row.role, time(row.created_at)])
      for (const line of columns(['OPERATOR', 'ROLE', 'CREATED'], cells)) environment.print(line)
    }
    return EXIT.done
  },
})
