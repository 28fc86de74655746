/** The root of the repository holds what belongs to the project, and nothing that a tool or a trial left behind. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../../..')

/** A new entry belongs here only if it belongs in every checkout. */
const ENTRIES = [
  '.ci',
  '.editorconfig',
  '.gitattributes',
  '.gitignore',
  '.npmrc',
  '.oxlintrc.json',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'bench',
  'biome.json',
  'docs',
  'examples',
  'knip.json',
  'ops',
  'package-lock.json',
  'package.json',
  'packages',
  'scripts',
  'sdks',
  'tsconfig.base.json',
  'tsconfig.json',
  'tsconfig.test.json',
  'vitest.config.ts',
]

/** What the programs of CONTRIBUTING.md, the commands of the guides, and the trials of a developer write into the folder of the project. */
const LEFT_BEHIND = [
  '.schemathesis/default/cache/crashes/one.json',
  'packages/server/test/.schemathesis/one.json',
  'client-key.pem',
  'jwks.json',
  '.hypothesis/examples/one',
  'scripts/__pycache__/one.cpython-313.pyc',
  '.pytest_cache/README.md',
  '.venv/bin/python',
  'coverage/index.html',
  'docs/site/.pages/index.md',
  'docs/site/dist/index.html',
  'docs/site/node_modules/vitepress/package.json',
  'node.1234.heapsnapshot',
  'Heap.20261123.120000.heapsnapshot',
  'CPU.20261123.120000.1234.0.001.cpuprofile',
  'isolate0x1234-5678-v8.log',
  'report.20261123.120000.1234.0.001.json',
  'core',
  'core.1234',
  'npm-debug.log',
  'tsconfig.tsbuildinfo',
  '.DS_Store',
]

const git = (args: string[], input = '') =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', input }).split('\n').filter(Boolean)

const hasHistory = existsSync(join(ROOT, '.git'))

test.runIf(hasHistory)('The root of the repository has the entries of this list only', () => {
  const entries = new Set(git(['ls-files']).map((path) => path.split('/')[0] ?? ''))
  expect([...entries].sort()).toEqual([...ENTRIES].sort())
})

test.runIf(hasHistory)('Git ignores what the programs of the project leave behind', () => {
  expect(git(['check-ignore', '--no-index', '--stdin'], LEFT_BEHIND.join('\n'))).toEqual(LEFT_BEHIND)
})

test.runIf(hasHistory)('No file of the repository is one that Git ignores', () => {
  expect(git(['ls-files', '--cached', '--ignored', '--exclude-standard'])).toEqual([])
})
