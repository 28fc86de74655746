import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { runs } from './test/support/runs.ts'
import { temporaryFolder } from './test/support/temporary-folder.ts'

// Programs that tests start strip the types of the sources once, not at each start.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/grantor/compiled')
process.env.TMPDIR ??= temporaryFolder()

/** CONTRIBUTING.md says what each project is for, and when to run it. */
type Project = 'fast' | 'main' | 'isolated' | 'journeys' | 'looks' | 'chaos' | 'citus' | 'prometheus'

/** Load on several processes while they, their database and their network fail. */
const CHAOS = ['feed/feed', 'order/porcupine', 'postgres', 'promotion', 'rolling-restart', 'sqlite'].map(
  (name) => `test/chaos/${name}.test.ts`,
)
/** Files that replace modules, or record how modules are loaded. */
const ISOLATED = [
  'test/http/consent/consent-budget.test.ts',
  'test/store/postgres/at-its-worst.test.ts',
  'test/ops/log/standard-output.test.ts',
  'test/imports/regexes.test.ts',
  'test/operations/derived.test.ts',
]
/**
 * Journeys of users, builders and operators through several programs and a browser. They take over a third of the time of all tests, so they
 * have a command of their own. No file that docs/evidence/conformance.md names is among them.
 */
const JOURNEYS = [
  'admin/console/drafts',
  'admin/console/lists',
  'admin/console/walk',
  'cli/development/forms-unregistered',
  'cli/development/own-app',
  'cli/development/start',
  'cli/serve/change-secret',
  'cli/serve/memory-limits',
  'cli/serve/passed-socket',
  'cli/serve/versions-side-by-side',
  'clients/browser-app',
  'clients/builders-guide',
  'clients/devices-guide',
  'clients/mcp-guide',
  'clients/testing-guide',
  'connect/browser',
  'create-app/templates',
  'docs/operating-commands',
  'flows/account-receipts',
  'flows/cli-device',
  'flows/cross-device',
  'flows/demo-app',
  'flows/device-client',
  'flows/languages',
  'flows/login-contract-wallet',
  'flows/login-in-view',
  'flows/login-refusals',
  'flows/login-without-script',
  'flows/own-login-server',
  'flows/own-login-server-faults',
  'flows/page-speed',
  'flows/readme',
  'flows/receipt-page',
  'flows/wallet-kinds',
  'flows/wallet-window',
  'flows/walletconnect',
  'telemetry/processes',
  'testing/test-issuer',
].map((name) => `test/${name}.test.ts`)
/** Folders whose tests need neither PostgreSQL, nor a browser, nor another process. */
const FAST = /^test\/(config|domain|keys|oauth|outbound|pages|resource|store\/sqlite|wallet)\//
/** The exceptions. */
const NOT_FAST = [
  'test/domain/maintenance/signing-keys.test.ts',
  'test/store/sqlite/checkpoints.test.ts',
  'test/store/sqlite/locked.test.ts',
  'test/store/sqlite/processes.test.ts',
]

function projectOf(file: string): Project {
  if (file.startsWith('test/citus/')) return 'citus'
  if (file === 'test/alerts/prometheus.test.ts') return 'prometheus'
  if (CHAOS.includes(file)) return 'chaos'
  if (file.endsWith('-looks.test.ts')) return 'looks'
  if (ISOLATED.includes(file)) return 'isolated'
  if (JOURNEYS.includes(file)) return 'journeys'
  return FAST.test(file) && !NOT_FAST.includes(file) ? 'fast' : 'main'
}

/**
 * These files run in their own project and, if Citus is there, again on Citus: the admin API, the console, the commands on PostgreSQL, and servers
 * of two versions.
 */
const isAlsoOnCitus = (file: string) =>
  Boolean(process.env.TEST_CITUS_PG_BIN) &&
  ((file.startsWith('test/admin/') && ['main', 'journeys'].includes(projectOf(file))) ||
    file === 'test/cli/commands/postgres.test.ts' ||
    file === 'test/cli/serve/versions-side-by-side.test.ts')

const FILES = globSync('test/**/*.test.ts', { cwd: import.meta.dirname })

type ProjectOptions = NonNullable<TestProjectInlineConfiguration['test']>
/** One file at a time, after the other projects. */
const ALONE: ProjectOptions = { fileParallelism: false, sequence: { groupOrder: 1 } }

/** The files of one worker share the modules they import: to import them anew for each file took a third of the whole time. */
const project = (name: Project, options: ProjectOptions = {}) => ({
  extends: true as const,
  test: { name, isolate: false, include: FILES.filter((file) => projectOf(file) === name), ...options },
})

/** The longest files. They start first, so that none of them runs alone at the end. */
const LONGEST = [
  'create-app/templates',
  'cli/development/start',
  'flows/languages',
  'flows/cross-device',
  'clients/testing-guide',
  'testing/test-issuer',
  'flows/demo-app',
  'docs/operating-commands',
  'admin/console/walk',
  'cli/serve/serve',
  'store/postgres/contract',
  'http/account/ending-cuts',
  'cli/serve/workers',
  'http/endings/attacks',
  'store/postgres/limits',
  'store/postgres/already-done',
  'flows/login-phone',
  'store/sqlite/contract',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((name) => moduleId.endsWith(`/test/${name}.test.ts`))
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

export default defineConfig({
  // `grantor/resource` means src in tests, as it does for node and tsc in a checkout
  resolve: { conditions: ['grantor-source'] },
  ssr: { resolve: { conditions: ['grantor-source'], externalConditions: ['grantor-source'] } },
  test: {
    projects: [
      project('fast'),
      project('main'),
      project('isolated', { isolate: true }),
      project('journeys'),
      project('looks'),
      project('chaos', { ...ALONE, env: { TEST_CHAOS_SECONDS: process.env.TEST_CHAOS_SECONDS ?? '55' } }),
      project('prometheus', ALONE),
      project('citus', {
        ...ALONE,
        include: FILES.filter((file) => projectOf(file) === 'citus' || isAlsoOnCitus(file)),
        env: { TEST_ENGINE: 'citus', TEST_CHAOS_SECONDS: process.env.TEST_CHAOS_SECONDS ?? '30' },
      }),
    ],
    environment: 'node',
    globalSetup: ['test/support/global-setup.ts'],
    // child processes, not threads: tests change signals and environment, and start servers of their own
    pool: 'forks',
    // three times as many as there are cores: a good part of the tests waits, for a browser, a process or a disk
    maxWorkers: availableParallelism() * 3,
    // only to end what hangs: no test is to fail because the machine is busy; a property that is tried more often may take longer
    testTimeout: 120_000 * Math.max(1, runs / 100),
    hookTimeout: 120_000,
    // what a test waits for comes late on a busy machine; a short time would make the machine's speed part of the assertion
    expect: { poll: { timeout: 60_000 } },
    sequence: { sequencer: LongestFirst },
  },
})
