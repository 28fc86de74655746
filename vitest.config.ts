import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { runs } from './packages/server/test/support/runs.ts'
import { temporaryFolder } from './packages/server/test/support/temporary-folder.ts'

// Programs that tests start strip the types of the sources once, not at each start, and find the sources of the packages by their names.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/grantor/compiled')
process.env.TMPDIR ??= temporaryFolder()
const SOURCE = '--conditions=grantor-source'
if (!process.env.NODE_OPTIONS?.includes(SOURCE)) process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} ${SOURCE}`.trim()

/** The projects that a test file names in its suffix: `x.journey.test.ts`. CONTRIBUTING.md describes each project, and when to run it. */
const SUFFIXES = ['journey', 'looks', 'chaos', 'citus', 'prometheus', 'isolated'] as const
type Project = 'fast' | 'main' | (typeof SUFFIXES)[number]

/** Folders whose tests need neither PostgreSQL, nor a browser, nor another process, except for files with the suffix `process`. */
const FAST =
  /^packages\/(protocol\/test|resource\/test|server\/test\/(config|domain|outbound\/http|pages|protocol|store\/sqlite))\//

function projectOf(file: string): Project {
  const suffix = SUFFIXES.find((name) => file.endsWith(`.${name}.test.ts`))
  if (suffix) return suffix
  return FAST.test(file) && !file.endsWith('.process.test.ts') ? 'fast' : 'main'
}

/**
 * These files run in their own project and, if Citus is there, again on Citus: the admin API, the console, the commands on PostgreSQL, and servers
 * of two versions.
 */
const isAlsoOnCitus = (file: string) =>
  Boolean(process.env.TEST_CITUS_PG_BIN) &&
  ((/^packages\/server\/test\/operators\/(api|console)\//.test(file) && ['main', 'journey'].includes(projectOf(file))) ||
    file === 'packages/server/test/app/commands/postgres.test.ts' ||
    /^packages\/server\/test\/app\/serve\/(versions-side-by-side|earlier-version)\.journey\.test\.ts$/.test(file))

const FILES = globSync('packages/*/test/**/*.test.ts', { cwd: import.meta.dirname })

type ProjectOptions = NonNullable<TestProjectInlineConfiguration['test']>
/** One file at a time, after the other projects. */
const ALONE: ProjectOptions = { fileParallelism: false, sequence: { groupOrder: 1 } }

/** The files of one worker share the modules they import: to import them anew for each file took a third of the whole time. */
const project = (name: Project, options: ProjectOptions = {}) => ({
  extends: true as const,
  test: { name, isolate: false, include: FILES.filter((file) => projectOf(file) === name), ...options },
})

export default defineConfig({
  // `@grantor/resource` means its `src` in tests, as it does for Node and tsc in a checkout.
  resolve: { conditions: ['grantor-source'] },
  ssr: { resolve: { conditions: ['grantor-source'], externalConditions: ['grantor-source'] } },
  environments: { __vitest__: { resolve: { conditions: ['grantor-source'], externalConditions: ['grantor-source'] } } },
  test: {
    projects: [
      project('fast'),
      project('main'),
      project('isolated', { isolate: true }),
      project('journey'),
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
    globalSetup: ['packages/server/test/support/global-setup.ts'],
    // child processes, not threads: tests change signals and environment, and start servers of their own
    pool: 'forks',
    // three times as many as there are cores: a good part of the tests waits, for a browser, a process or a disk
    maxWorkers: availableParallelism() * 3,
    // only to end what hangs: no test is to fail because the machine is busy; a property that is tried more often may take longer
    testTimeout: 120_000 * Math.max(1, runs / 100),
    hookTimeout: 120_000,
    // what a test waits for comes late on a busy machine; a short time would make the machine's speed part of the assertion
    expect: { poll: { timeout: 60_000 } },
  },
})
