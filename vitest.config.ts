import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { runs } from './test/support/runs.ts'

// Programs that tests start strip the types of the sources once, not at each start.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/grantor/compiled')

/** Pictures of every page in light, dark and narrow: `npm run test:looks`. */
const LOOKS = 'test/**/*-looks.test.ts'
/** Load on several processes while they, their database and their network fail: `npm run test:chaos`. */
const CHAOS = ['postgres', 'promotion', 'rolling-restart', 'sqlite'].map((name) => `test/chaos/${name}.test.ts`)
/** On a real Citus cluster: `npm run test:citus`. */
const CITUS = 'test/citus/**/*.test.ts'
/** Files that replace modules, or record how modules are loaded. */
const ISOLATED = [
  'test/http/consent-budget.test.ts',
  'test/store/postgres/at-its-worst.test.ts',
  'test/ops/standard-output.test.ts',
  'test/imports/regexes.test.ts',
]

const looks = process.env.TEST_LOOKS === '1'
const chaos = process.env.TEST_CHAOS_SECONDS !== undefined
const citus = process.env.TEST_CITUS_PG_BIN !== undefined
const include = looks ? [LOOKS] : ['test/**/*.test.ts']
const exclude = [...(looks ? [] : [LOOKS]), ...(chaos ? [] : CHAOS), ...(citus ? [] : [CITUS])]
const report = looks ? 'looks-report' : chaos ? 'chaos-report' : 'test-report'

export default defineConfig({
  // `grantor/resource` means src in tests, as it does for node and tsc in a checkout
  resolve: { conditions: ['grantor-source'] },
  ssr: { resolve: { conditions: ['grantor-source'], externalConditions: ['grantor-source'] } },
  test: {
    projects: [
      // The files of one worker share the modules they import: to import them anew for each file took a third of the whole time.
      { extends: true, test: { name: 'shared', isolate: false, include, exclude: [...exclude, ...ISOLATED] } },
      { extends: true, test: { name: 'isolated', include: looks ? [] : ISOLATED } },
    ],
    environment: 'node',
    globalSetup: ['test/support/global-setup.ts'],
    // child processes, not threads: tests change signals and environment, and start servers of their own
    pool: 'forks',
    // twice as many as there are cores: a good part of the tests waits, for a browser, a process or a disk
    maxWorkers: availableParallelism() * 2,
    // only to end what hangs: no test is to fail because the machine is busy; a property that is tried more often may take longer
    testTimeout: 120_000 * Math.max(1, runs / 100),
    hookTimeout: 120_000,
    // what a test waits for comes late on a busy machine; the usual second would make the machine's speed part of the assertion
    expect: { poll: { timeout: 15_000 } },
    // what the last lines of .ci/run are counted from
    reporters: ['default', ['json', { outputFile: `node_modules/.cache/grantor/${report}.json` }]],
  },
})
