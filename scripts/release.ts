/**
 * Builds a release, twice, and compares the bytes: `npm run release -- --dry-run --output FOLDER`. docs/contributing/release.md describes the steps.
 *
 * Without `--dry-run` the program waits for a confirmation, dates the entry of CHANGELOG.md, commits, builds, signs, tags and publishes. It needs
 * `git`, `buildah`, `skopeo`, `helm` and `cosign`, and the rights at the registries that the settings of `npm` and the options name.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { run } from './image/run.ts'
import { buildRelease, filesOf, type Release } from './release/build.ts'
import { releaseFaults, withDate } from './release/checks.ts'

const checkout = join(import.meta.dirname, '..')
const { values: options } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    /** leaves the image out, on a machine without `buildah`; in a dry run only */
    'without-image': { type: 'boolean', default: false },
    output: { type: 'string', default: join(checkout, 'build/release') },
    /** the name of the image at its registry, without a tag */
    image: { type: 'string' },
    /** the address of the registry for the chart, which begins with oci:// */
    charts: { type: 'string' },
  },
})
const output = resolve(options.output)
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
const git = (...args: string[]) => run('git', args, { cwd: checkout })

function stop(...lines: string[]): never {
  for (const line of lines) console.error(line)
  process.exit(1)
}

/** Two builds of one commit. A difference is a fault of the build, and stops the release. */
function build(): Release {
  const commit = git('rev-parse', 'HEAD')
  const epoch = Number(git('log', '-1', '--format=%ct'))
  const release = { checkout, version, commit, epoch, withImage: !options['without-image'] }
  const again = mkdtempSync(join(tmpdir(), 'grantor-again-'))
  try {
    buildRelease(release, output)
    buildRelease(release, again)
    const [one, other] = [output, again].map((folder) => readFileSync(join(folder, filesOf(version).sums), 'utf8').split('\n'))
    const different = (one ?? []).filter((line) => !other?.includes(line))
    if (different.length > 0) stop('two builds of this commit differ:', ...different)
  } finally {
    rmSync(again, { recursive: true, force: true })
  }
  return release
}

async function ask(): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question(`This publishes grantor ${version}, which cannot be undone. Type the version: `)
  terminal.close()
  if (answer.trim() !== version) stop('nothing was released')
}

/** The keyless signature of `cosign` names the person or the machine that released. */
function sign(): void {
  const { sums, provenance } = filesOf(version)
  for (const file of [sums, provenance].map((name) => join(output, name)))
    run('cosign', ['sign-blob', '--yes', '--bundle', `${file}.sigstore.json`, file], { stdio: ['inherit', 'pipe', 'inherit'] })
}

function publish(image: string, charts: string): void {
  const { chart, image: archive, sums } = filesOf(version)
  const packages = readFileSync(join(output, sums), 'utf8').match(/\S+\.tgz$/gm) ?? []
  for (const name of packages.filter((each) => each !== chart)) run('npm', ['publish', '--access', 'public', join(output, name)])
  run('skopeo', ['copy', '--preserve-digests', `oci-archive:${join(output, archive)}`, `docker://${image}:${version}`])
  run('helm', ['push', join(output, chart), charts])
  git('push', '--atomic', 'origin', 'HEAD', `v${version}`)
}

const faults = releaseFaults(checkout, version)
if (faults.length > 0) stop(`grantor ${version} cannot be released:`, ...faults.map((fault) => `- ${fault}`))
if (options['dry-run']) {
  const { commit } = build()
  console.log(readFileSync(join(output, filesOf(version).sums), 'utf8').trimEnd())
  console.log(
    `${output}: grantor ${version} of ${commit}, built twice with the same bytes. Nothing was signed, tagged or published.`,
  )
} else {
  const { image, charts } = options
  if (options['without-image'] || image === undefined || charts === undefined)
    stop('a release needs --image NAME and --charts oci://ADDRESS, and the image')
  await ask()
  const changelog = join(checkout, 'CHANGELOG.md')
  writeFileSync(changelog, withDate(readFileSync(changelog, 'utf8'), version, new Date().toISOString().slice(0, 10)))
  git('commit', '--quiet', '--message', `release: ${version}`, '--', 'CHANGELOG.md')
  build()
  sign()
  git('tag', '--sign', '--message', `grantor ${version}`, `v${version}`)
  publish(image, charts)
  console.log(`released grantor ${version}`)
}
