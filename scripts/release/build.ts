/** Builds all files of a release into one folder: packages, chart, image, SBOM, provenance and checksums. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../image/run.ts'
import { cleanedSbom, npmSbom } from '../image/sbom.ts'
import { provenanceOf, sha256Of, sumsOf } from './statement.ts'

/** `epoch`: the time of the commit in seconds, which is the time of every file in an archive */
export type Release = { checkout: string; version: string; commit: string; epoch: number; withImage: boolean }

export function filesOf(version: string) {
  return {
    chart: `grantor-chart-${version}.tgz`,
    image: `grantor-image-${version}.tar`,
    sbom: `grantor-${version}.cdx.json`,
    provenance: `grantor-${version}.provenance.json`,
    sums: 'SHA256SUMS',
  }
}

export function buildRelease(release: Release, output: string): void {
  const { checkout, version, commit, withImage } = release
  const files = filesOf(version)
  rmSync(output, { recursive: true, force: true })
  mkdirSync(output, { recursive: true })
  const scratch = mkdtempSync(join(tmpdir(), 'grantor-release-'))
  try {
    runScript(release, 'pack.ts', output)
    archive(release, join(checkout, 'ops/helm'), { entries: ['grantor'], to: join(scratch, 'chart.tar') })
    // Without the name and the time of the file.
    run('gzip', ['--no-name', '--best', join(scratch, 'chart.tar')])
    writeFileSync(join(output, files.chart), readFileSync(join(scratch, 'chart.tar.gz')))
    if (withImage) {
      runScript(release, 'build-image.ts', join(scratch, 'image'))
      archive(release, join(scratch, 'image'), { entries: ['.'], to: join(output, files.image) })
    }
    writeFileSync(join(output, files.sbom), sbomOfPackage(release, join(output, `grantor-${version}.tgz`), scratch))
    const lock = sha256Of(readFileSync(join(checkout, 'package-lock.json')))
    const npm = run('npm', ['--version'], { cwd: checkout })
    writeFileSync(join(output, files.provenance), provenanceOf(output, { version, commit, lock, node: process.version, npm }))
    writeFileSync(join(output, files.sums), sumsOf(output))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function runScript({ checkout, version, epoch }: Release, script: string, output: string): void {
  run(process.execPath, [join(checkout, 'scripts', script), '--output', output], {
    cwd: checkout,
    env: { ...process.env, RELEASE_VERSION: version, SOURCE_DATE_EPOCH: String(epoch) },
  })
}

type Archive = { entries: readonly string[]; to: string }

function archive({ epoch }: Release, folder: string, { entries, to }: Archive): void {
  const fixed = ['--sort=name', `--mtime=@${epoch}`, '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX']
  run('tar', ['--create', '--format=ustar', ...fixed, '--directory', folder, '--file', to, ...entries])
}

/** What `npm install` of the package installs: the packages of its shrinkwrap. */
function sbomOfPackage({ epoch }: Release, file: string, scratch: string): string {
  const folder = join(scratch, 'package')
  run('tar', ['--extract', '--gzip', '--directory', scratch, '--file', file])
  return `${JSON.stringify(cleanedSbom(npmSbom(folder, ['--package-lock-only']), epoch), null, 2)}\n`
}
