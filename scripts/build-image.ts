/**
 * Builds an OCI image from this checkout without a base image, and writes it as an OCI layout.
 * docs/operating/install.md describes what the image contains and how to use it.
 *
 * `npm run image -- --output FOLDER`. Needs Debian's package `buildah`. Two builds of one commit on equal machines have the same digest.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { versionOfTree } from '../packages/server/src/app/compose/version.ts'
import { fillRoot, NODE, PACKAGE, USER } from './image/root.ts'
import { run } from './image/run.ts'

const checkout = join(import.meta.dirname, '..')
const { values } = parseArgs({ options: { output: { type: 'string', default: join(checkout, 'build/image') } } })
const output = resolve(values.output)
const {
  version: release,
  description,
  license,
} = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as Record<string, string>
const version = versionOfTree(checkout, release ?? '')
const git = (...args: string[]) => run('git', args, { cwd: checkout })
const revision = git('describe', '--always', '--dirty', '--abbrev=40', '--exclude=*')
const epoch = Number(process.env.SOURCE_DATE_EPOCH ?? git('log', '-1', '--format=%ct'))

/** A tag may not have a plus sign. Helm writes such a version in the same way. */
function tagOf(text: string): string {
  return text.replace('+', '_')
}

const LABELS = {
  'org.opencontainers.image.title': 'grantor',
  'org.opencontainers.image.description': description,
  'org.opencontainers.image.version': version,
  'org.opencontainers.image.revision': revision,
  'org.opencontainers.image.licenses': license,
  'org.opencontainers.image.created': new Date(epoch * 1000).toISOString(),
}
const PROCESS = {
  user: `${USER}:${USER}`,
  workingdir: '/var/lib/grantor',
  entrypoint: JSON.stringify([NODE, `${PACKAGE}/bin/grantor.js`]),
  cmd: 'serve',
  'stop-signal': 'SIGTERM',
}
const ENVIRONMENT = {
  // loopback, the default, is not reachable from outside of a container
  GRANTOR_LISTEN: '0.0.0.0:4000',
  GRANTOR_LOGIN_LISTEN: '0.0.0.0:4001',
  // SQLite sorts large tables in files, and the image has no /tmp
  SQLITE_TMPDIR: '/var/lib/grantor',
}
const folder = mkdtempSync(join(tmpdir(), 'grantor-image-'))
const buildah = (...args: string[]) =>
  run('buildah', ['--root', join(folder, 'store'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs', ...args])
try {
  const root = join(folder, 'root')
  fillRoot(root, checkout, epoch)
  const data = join(folder, 'data')
  mkdirSync(data)
  mkdirSync(join(data, 'grantor'), { mode: 0o700 })
  const container = buildah('from', 'scratch')
  buildah('copy', '--quiet', '--chown', '0:0', container, root, '/')
  buildah('copy', '--quiet', '--chown', `${USER}:${USER}`, container, data, '/var/lib/')
  buildah(
    'config',
    ...Object.entries(PROCESS).map(([name, value]) => `--${name}=${value}`),
    ...Object.entries(ENVIRONMENT).map(([name, value]) => `--env=${name}=${value}`),
    ...Object.entries(LABELS).map(([name, value]) => `--label=${name}=${value}`),
    '--port=4000',
    '--port=4001',
    container,
  )
  rmSync(output, { recursive: true, force: true })
  mkdirSync(output, { recursive: true })
  buildah('commit', '--quiet', '--format', 'oci', '--timestamp', String(epoch), container, `oci:${output}:${tagOf(version)}`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
const index = JSON.parse(readFileSync(join(output, 'index.json'), 'utf8')) as { manifests: { digest: string }[] }
console.log(`${output} ${index.manifests[0]?.digest}`)
