/** The OCI image, built as docs/operating/install.md describes. `npm run test:packages` runs these tests; they need Debian's packages `buildah` and `bubblewrap`. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test as base, expect, onTestFinished } from 'vitest'
import { FILE, started } from '../support/fixtures.ts'
import { freePorts } from '../support/free-ports.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { buildImage, Container, openImage } from './image.ts'
import { ASKED, missing } from './missing.ts'

const USER = 65_532
const lacking = ASKED ? missing('buildah', 'bwrap', 'dpkg-query') : 'nothing'
if (ASKED && lacking) console.log(`skipped: the image needs ${lacking}; apt-get install buildah bubblewrap`)

const test = base
  .extend(
    'image',
    FILE,
    started(
      async () => openImage(),
      (image) => image.close(),
    ),
  )
  .extend('container', ({ image }, { onCleanup }) => {
    const container = new Container(image)
    onCleanup(() => container.close())
    return container
  })
const imageTest = test.runIf(ASKED && !lacking)

/** The settings of both programs, on two free ports of loopback. */
async function environment(databaseUrl: string) {
  const [auth = 0, login = 0] = await freePorts(2)
  const env = {
    GRANTOR_AUTH_URL: `http://127.0.0.1:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_LISTEN: `127.0.0.1:${auth}`,
    GRANTOR_LOGIN_LISTEN: `127.0.0.1:${login}`,
    GRANTOR_DATABASE_URL: databaseUrl,
    GRANTOR_SECRET: 'a-secret-of-a-test-0123456789-abcdefgh',
    GRANTOR_LOGIN_SECRET: 'a-login-secret-of-a-test-0123456789-ab',
    GRANTOR_DRAIN_SECONDS: '0',
  }
  return { auth, login, env }
}

/** Every entry of a folder, as paths from that folder. */
function entriesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) =>
    relative(folder, join(entry.parentPath, entry.name)),
  )
}

imageTest('Two builds of one commit have the same digest, also under another umask', ({ image }) => {
  expect(buildImage(join(image.folder, 'again'), '077')).toBe(image.digest)
})

imageTest(
  'The image contains Node, the libraries that Node needs, the package and nothing else; no shell, no npm',
  ({ image }) => {
    const entries = entriesOf(image.root)
    const outside = entries.filter(
      (path) => !path.startsWith('usr/lib/node_modules/grantor/') && statSync(join(image.root, path)).isFile(),
    )
    const libraries = outside.filter((path) => /^lib(64)?\/.*\.so\.\d+$/.test(path))
    expect(libraries.map((path) => path.replace(/.*\//, ''))).toEqual(expect.arrayContaining(['libc.so.6', 'libstdc++.so.6']))
    expect(outside.filter((path) => !libraries.includes(path) && !path.endsWith('/copyright')).toSorted()).toEqual([
      'etc/group',
      'etc/nsswitch.conf',
      'etc/passwd',
      'usr/bin/node',
      'usr/share/doc/grantor/sbom.cdx.json',
    ])
    const programs = entries.filter((path) => {
      const entry = statSync(join(image.root, path))
      return entry.isFile() && entry.mode & 0o111
    })
    expect(programs.toSorted()).toEqual([...libraries, 'usr/bin/node'].toSorted())
  },
)

imageTest('No file of the image is writable for its user, and none has a set-user-ID bit', ({ image }) => {
  const unsafe = entriesOf(image.root).filter((path) => statSync(join(image.root, path)).mode & 0o6022)
  expect(unsafe).toEqual([])
})

imageTest('The image runs as a user that is not root, and names the commit that it was built from', ({ image }) => {
  expect(image.config.User).toBe(`${USER}:${USER}`)
  expect(image.config.Labels['org.opencontainers.image.revision']).toMatch(/^[0-9a-f]{40}(-dirty)?$/)
  expect(image.config.Env.join('\n')).not.toMatch(/SECRET|DATABASE_URL/)
})

imageTest(
  'The SBOM in the image lists exactly the packages in the image, Node, and the Debian package of each library',
  ({ image }) => {
    const sbom = JSON.parse(readFileSync(join(image.root, 'usr/share/doc/grantor/sbom.cdx.json'), 'utf8')) as {
      bomFormat: string
      serialNumber?: string
      components: { name: string; version: string; purl: string; externalReferences?: { type: string; url: string }[] }[]
    }
    expect(sbom.bomFormat).toBe('CycloneDX')
    expect(sbom.serialNumber).toBeUndefined()
    // npm's SBOM has references that the schema of CycloneDX refuses
    const references = sbom.components.flatMap(({ externalReferences = [] }) => externalReferences)
    expect(references.filter(({ type, url }) => type === 'distribution' || !URL.canParse(url))).toEqual([])
    const folder = join(image.root, 'usr/lib/node_modules/grantor')
    const installed = entriesOf(folder)
      .filter((path) => /(^|\/)node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path))
      .map((path) => JSON.parse(readFileSync(join(folder, path), 'utf8')) as { name: string; version: string })
      .map(({ name, version }) => `${name}@${version}`)
    const listed = (kind: string) => sbom.components.filter(({ purl }) => purl.startsWith(`pkg:${kind}/`))
    expect(
      listed('npm')
        .map(({ name, version }) => `${name}@${version}`)
        .toSorted(),
    ).toEqual([...new Set(installed)].toSorted())
    expect(installed.length).toBeGreaterThan(20)
    expect(listed('generic').map(({ name }) => name)).toEqual(['node'])
    const libraries = entriesOf(image.root).filter((path) => /^lib(64)?\/.*\.so\.\d+$/.test(path))
    expect(
      listed('deb')
        .map(({ purl }) => purl.split('#')[1] ?? '')
        .toSorted(),
    ).toEqual(libraries.toSorted())
  },
)

imageTest('The image contains no lock file, no npm configuration and no environment file of the builder', ({ image }) => {
  const folder = join(image.root, 'usr/lib/node_modules/grantor')
  expect(entriesOf(folder).filter((path) => /(^|\/)(\.npmrc|\.package-lock\.json|package-lock\.json|\.env)$/.test(path))).toEqual(
    [],
  )
})

imageTest(
  'The image serves on SQLite and shows the login page, with a read-only root file system, and ends with 0 on SIGTERM',
  async ({ container, expect: check }) => {
    const { auth, login, env } = await environment('sqlite:/var/lib/grantor/grantor.sqlite')
    const write = await container.node(['-e', 'require("fs").writeFileSync("/etc/written", "")'])
    check(write.err).toMatch(/EROFS|EACCES/)
    check(await container.run(['migrate'], env)).toMatchObject({ exit: 0 })
    const service = await container.start(undefined, env)
    const loginServer = await container.start(['login-server'], env)
    for (const port of [auth, login]) check((await fetch(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200)
    const discovery = await fetch(`http://127.0.0.1:${auth}/.well-known/openid-configuration`)
    check(await discovery.json()).toMatchObject({ issuer: env.GRANTOR_AUTH_URL, jwks_uri: check.any(String) })
    check(await (await fetch(`http://127.0.0.1:${login}/login`)).text()).toContain('<style>')
    check(await loginServer.stop()).toBe(0)
    check(await service.stop()).toBe(0)
  },
)

imageTest('The image serves on PostgreSQL with two workers', async ({ container, expect: check }) => {
  const postgres = await startPostgres()
  onTestFinished(() => postgres.remove())
  const { auth, env } = await environment(postgres.urlOf('postgres'))
  check(await container.run(['migrate'], env)).toMatchObject({ exit: 0 })
  const service = await container.start(['serve', '--workers', '2'], env)
  check((await fetch(`http://127.0.0.1:${auth}/.well-known/openid-configuration`)).status).toBe(200)
  check(await service.stop()).toBe(0)
})

imageTest('Node in the image resolves a host name of /etc/hosts and one of a DNS server', async ({ container }) => {
  // a DNS server in a network of its own, which answers every question for an A record with 192.0.2.7
  const script = `
    const server = require('dgram').createSocket('udp4')
    server.on('message', (question, from) => {
      const end = 12 + question.subarray(12).indexOf(0) + 5
      const isA = question.readUInt16BE(end - 4) === 1
      const head = Buffer.from([question[0], question[1], 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0])
      const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7])
      server.send(Buffer.concat([head, question.subarray(12, end), ...(isA ? [record] : [])]), from.port, from.address)
    })
    server.bind(53, '127.0.0.1', async () => {
      const { lookup } = require('dns').promises
      console.log((await lookup('db.internal.example', { family: 4 })).address, (await lookup('in-hosts', { family: 4 })).address)
      server.close()
    })`
  const files = ['--unshare-net', '--cap-add', 'CAP_NET_BIND_SERVICE', '--uid', '0', '--gid', '0', '--tmpfs', '/etc']
  const etc = { 'resolv.conf': 'nameserver 127.0.0.1', hosts: '192.0.2.8 in-hosts', 'nsswitch.conf': 'hosts: files dns' }
  const written = `for (const [name, text] of Object.entries(${JSON.stringify(etc)})) require('fs').writeFileSync('/etc/' + name, text + '\\n');`
  expect(await container.node(['-e', written + script], {}, files)).toMatchObject({ exit: 0, out: '192.0.2.7 192.0.2.8\n' })
})
