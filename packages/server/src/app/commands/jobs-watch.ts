import { setTimeout as pause } from 'node:timers/promises'
import { getJob } from '../../operators/operations/jobs.ts'
import { formatCount } from '../../operators/operations/words.ts'
import { defineCommand, EXIT } from '../../operators/terminal/command.ts'
import { runOperation } from '../compose/operation-command.ts'
import { dataOption } from '../compose/settings.ts'

const EVERY_MS = 1000

export const jobsWatch = defineCommand({
  name: 'jobs watch',
  words: 'Prints the progress of a job until it is done.',
  about: 'Leaving the command does not stop the job: grantor jobs stop.',
  operands: [{ name: 'JOB_ID', words: 'The id of the job, from grantor jobs list.' }],
  options: { data: dataOption },
  examples: ['grantor jobs watch 3d1c8f0a-5b7e-4e0c-9a44-1f2b6c8d9e70'],
  program: 'clients',
  async run({ options, operands: [id = ''] }, environment) {
    for (let printed = -1; ; ) {
      const job = await runOperation(getJob, { id, data: options.data }, environment)
      const { grants_ended: ended, done_at: done, stopped_by: stopped } = job
      const state = done === null ? 'so far' : stopped === null ? 'in all: done' : 'in all: stopped'
      if (ended !== printed || done !== null) environment.print(`${formatCount(ended, 'grant')} ended ${state}.`)
      if (done !== null || environment.isRead?.() === false) return EXIT.done
      printed = ended
      await pause(EVERY_MS)
    }
  },
})
