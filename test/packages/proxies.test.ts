/** The settings for reverse proxies in docs/operating/operations.md. `npm run test:packages` runs these tests; they need Debian's nginx and haproxy. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newFolder } from '../cli/run.ts'
import { blockWith } from '../support/page-blocks.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../support/tls-certificate.ts'
import { ASKED, missing } from './missing.ts'

const block = (part: string) => blockWith('operating/operations.md', part)

/** What is missing for the test with this program; the empty text if nothing is. */
function lackingFor(program: string): string {
  const lacking = ASKED ? missing(program) : program
  if (ASKED && lacking) console.log(`skipped: the settings need ${lacking}; apt-get install ${lacking}`)
  return lacking
}

test.skipIf(lackingFor('nginx'))('nginx accepts the servers of the page', () => {
  const folder = newFolder()
  mkdirSync(join(folder, 'logs'))
  writeFileSync(join(folder, 'cert.pem'), TEST_CERTIFICATE)
  writeFileSync(join(folder, 'key.pem'), TEST_CERTIFICATE_KEY)
  const own = `pid ${folder}/nginx.pid;\nerror_log stderr;\nevents {}\n`
  const certificate = `ssl_certificate ${folder}/cert.pem;\nssl_certificate_key ${folder}/key.pem;\naccess_log off;\n`
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const temporary = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};\n`).join('')
  // A test needs no right to the port 443.
  const servers = block('server_name').replaceAll('listen 443', 'listen 127.0.0.1:18443')
  writeFileSync(join(folder, 'nginx.conf'), `${own}http {\n${certificate}${temporary}${servers}}\n`)
  const { status, stderr } = spawnSync('nginx', ['-t', '-p', folder, '-c', join(folder, 'nginx.conf')], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, expect.stringContaining('test is successful')])
})

test.skipIf(lackingFor('haproxy'))('HAProxy accepts the back end of the page', () => {
  const path = join(newFolder(), 'haproxy.cfg')
  const before =
    'defaults\n  mode http\n  timeout connect 1s\n  timeout client 1m\n  timeout server 1m\nfrontend web\n  bind 127.0.0.1:18080\n  default_backend grantor\n'
  writeFileSync(path, before + block('backend grantor'))
  const { status, stderr } = spawnSync('haproxy', ['-c', '-f', path], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, expect.not.stringContaining('[WARNING]')])
})
