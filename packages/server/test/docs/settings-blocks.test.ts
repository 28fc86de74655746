/** The blocks of settings in the pages for operators: the programs accept them as they are. */
import { execFileSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { readSettings } from '../../src/config/settings.ts'
import { newFolder } from '../app/run.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../support/certificates.ts'
import { blockWith } from '../support/page-blocks.ts'
import { TEST_LOGIN_SECRET, TEST_SECRET } from '../support/start.ts'

const REQUIRED = {
  GRANTOR_AUTH_URL: 'https://auth.example.com',
  GRANTOR_LOGIN_URL: 'https://login.example.com',
  GRANTOR_DATABASE_URL: 'sqlite:grantor.sqlite',
  GRANTOR_SECRET: TEST_SECRET,
  GRANTOR_LOGIN_SECRET: TEST_LOGIN_SECRET,
}

/** The assignments of the block as a shell reads them. */
function settingsIn(block: string): Record<string, string> {
  const text = execFileSync('bash', ['--norc', '-c', `set -a\n${block}\nenv -0`], { env: { PATH: process.env.PATH } })
  const pairs = text
    .toString()
    .split('\0')
    .map((line) => line.split(/=(.*)/s, 2))
  return Object.fromEntries(pairs.filter(([name]) => /^(GRANTOR|OTEL)_/.test(name ?? ''))) as Record<string, string>
}

test.each<[page: string, part: string, number]>([
  ['guides/wallets.md', 'GRANTOR_WALLET_WINDOW', 3],
  ['operating/admin-api.md', 'GRANTOR_ADMIN_LISTEN', 2],
  ['operating/operations.md', 'GRANTOR_TLS_CERT_FILE', 4],
  ['operating/postgresql.md', 'sslrootcert=', 1],
  ['operating/walletconnect.md', 'PROJECT_ID=', 1],
  ['operating/watch.md', 'OTEL_EXPORTER', 2],
])('grantor serve accepts the settings of docs/%s with %s', (page, part, howMany) => {
  const files: Record<string, string> = {
    'fullchain.pem': TEST_CERTIFICATE,
    'privkey.pem': TEST_CERTIFICATE_KEY,
    'ca.pem': TEST_CERTIFICATE,
  }
  const folder = newFolder()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const block = blockWith(page, part).replaceAll(/\/etc\/\S*\/(\w+\.pem)/g, join(folder, '$1'))
  const settings = settingsIn(block)
  expect(Object.keys(settings)).toHaveLength(howMany)
  expect(readSettings('serve', { ...REQUIRED, ...settings })).not.toHaveProperty('faults')
})

test('The settings of docs/operating/watch.md for Prometheus name the files of the rules and their job', () => {
  const { rule_files: files, scrape_configs: jobs } = parse(blockWith('operating/watch.md', 'rule_files')) as {
    rule_files: string[]
    scrape_configs: { job_name: string }[]
  }
  const rules = readdirSync(new URL('../../../../ops/prometheus', import.meta.url)).filter((name) => !name.endsWith('.test.yml'))
  expect(files.toSorted()).toEqual(rules.toSorted())
  expect(jobs.map(({ job_name: name }) => name)).toEqual(['grantor'])
})
