import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { runs } from './test/support/runs.ts'

const LOOKS = 'test/**/*-looks.test.ts'
const looks = process.env.TEST_LOOKS === '1'
const report = looks ? 'looks-report' : 'test-report'

export default defineConfig({
  // `grantor/resource` means src in tests, as it does for node and tsc in a checkout
  resolve: { conditions: ['grantor-source'] },
  ssr: { resolve: { conditions: ['grantor-source'], externalConditions: ['grantor-source'] } },
  test: {
    // pictures of every page in light, dark and narrow keep a browser busy for a minute: npm run test:looks
    include: looks ? [LOOKS] : ['test/**/*.test.ts'],
    exclude: looks ? [] : [LOOKS],
    environment: 'node',
    globalSetup: ['test/support/global-setup.ts'],
    // child processes, not threads: tests change signals and environment, and start servers of their own
    pool: 'forks',
    // half as many again as there are cores: a good part of the tests waits, for a browser, a process or a disk
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    // only to end what hangs: no test is to fail because the machine is busy; a property that is tried more often may take longer
    testTimeout: 120_000 * Math.max(1, runs / 300),
    hookTimeout: 120_000,
    // what a test waits for comes late on a busy machine; the usual second would make the machine's speed part of the assertion
    expect: { poll: { timeout: 15_000 } },
    // what the last lines of .ci/run are counted from
    reporters: ['default', ['json', { outputFile: `node_modules/.cache/grantor/${report}.json` }]],
  },
})
