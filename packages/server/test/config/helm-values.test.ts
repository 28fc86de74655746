import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { nameOf } from '../../src/config/setting.ts'
import { type Setting, table } from '../../src/config/table.ts'

const SCHEMA = '../../../../ops/helm/grantor/values.schema.json'

/** The chart sets these itself. The database URL and the RPC URLs of chains hold secrets, so they come from a Secret. */
const OF_THE_CHART = [
  'AUTH_URL',
  'LOGIN_URL',
  'AUTH_BACKEND_URL',
  'ADMIN_URL',
  'ADMIN_LISTEN',
  'LISTEN',
  'LOGIN_LISTEN',
  'METRICS_LISTEN',
  'LOGIN_METRICS_LISTEN',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'DRAIN_SECONDS',
  'DATABASE_URL',
  'CHAINS',
  'DEV_WALLET',
]

// After a change of the table, this command writes the names: npx vitest run packages/server/test/config -u
test('The values of the Helm chart accept every setting of the table but secrets and those that the chart sets itself', async () => {
  const settings = Object.values<Setting>(table).filter(({ name, secret }) => !secret && !OF_THE_CHART.includes(name))
  const names = settings.map((setting) => `          "${nameOf(setting)}"`).join(',\n')
  const schema = readFileSync(new URL(SCHEMA, import.meta.url), 'utf8')
  const written = schema.replace(/("propertyNames": \{\s+"enum": \[)[^\]]*\]/, `$1\n${names}\n        ]`)
  await expect(written).toMatchFileSnapshot(SCHEMA)
})
