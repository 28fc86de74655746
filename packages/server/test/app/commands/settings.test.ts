import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newFolder, run } from '../run.ts'

const SECRET = 'a-secret-of-this-test-0123456789-0123456789'
const ENV = {
  GRANTOR_AUTH_URL: 'https://auth.example.com',
  GRANTOR_LOGIN_URL: 'https://login.example.com',
  GRANTOR_DATABASE_URL: 'sqlite:/var/lib/grantor/grantor.sqlite',
  GRANTOR_LOGIN_SECRET: `login-${SECRET}`,
}

test('grantor settings prints each setting, its value and where it comes from, without a database and without a secret', async () => {
  const file = join(newFolder(), 'secret')
  writeFileSync(file, SECRET)
  const { exit, out } = await run(['settings'], { ...ENV, GRANTOR_SECRET_FILE: file })
  expect(exit).toBe(0)
  expect(out).not.toContain(SECRET)
  const lines = out.split('\n').map((line) => line.split(/ {2,}/))
  expect(lines[0]).toEqual(['NAME', 'VALUE', 'FROM'])
  expect(lines).toContainEqual(['GRANTOR_AUTH_URL', 'https://auth.example.com', 'environment'])
  expect(lines).toContainEqual(['GRANTOR_SECRET', 'set', 'file'])
  expect(lines).toContainEqual(['GRANTOR_HOOK_SECRET', 'not set', 'default'])
  expect(lines).toContainEqual(['GRANTOR_CODE_LIFETIME', '60 seconds', 'default'])
})

test('grantor settings --json prints the records of the API, and a fault of a setting is a usage error', async () => {
  const { out } = await run(['settings', '--json', '--program', 'login-server'], ENV)
  expect(JSON.parse(out)).toContainEqual({
    name: 'GRANTOR_LOGIN_URL',
    section: 'Addresses',
    value: 'https://login.example.com',
    unit: null,
    source: 'environment',
    is_set: true,
    is_secret: false,
    default: null,
    description: expect.any(String),
  })
  const faulty = await run(['settings'], { ...ENV, GRANTOR_SECRET: SECRET, GRANTOR_CODE_LIFETIME: 'x' })
  expect(faulty.exit).toBe(2)
})
