/**
 * Each fault of a record names a member: the API lists the member, the console shows the fault at the field, the command line prints one line for
 * each fault, and `apply` names the entry of the file.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { newDatabase, newFolder, run } from '../../app/run.ts'
import { adminCaller } from '../../support/admin.ts'
import { test as base, FILE } from '../../support/fixtures.ts'
import { ConsoleBrowser } from './console-browser.ts'
import { addOperator, OWNER } from './visit.ts'

const test = base.extend('options', { admin: true }).extend('owner', FILE, ({ grantor }) => adminCaller(grantor, 'owner'))

const CLIENT = { name: 'Notes', redirect_uris: ['https://notes.example.net/callback'] }
const RESOURCE = { resource: 'https://notes.example.net/', name: 'Notes', scopes: [{ name: 'notes', description: 'read' }] }
const FAULTY: [subject: string, body: Record<string, unknown>, members: (string | null)[]][] = [
  ['clients', { ...CLIENT, name: 'x'.repeat(81) }, ['name']],
  ['clients', { ...CLIENT, redirect_uris: ['http://a.example/', 'https://*.example/cb'] }, ['redirect_uris', 'redirect_uris']],
  ['clients', { ...CLIENT, resources: ['a'], resource_server: 'b' }, ['resources', 'resource_server']],
  ['clients', { ...CLIENT, refresh_idle_lifetime: 7200, grant_lifetime: 3600 }, ['refresh_idle_lifetime']],
  ['clients', { ...CLIENT, type: 'public', resource_server: 'https://notes.example.net/' }, ['resource_server']],
  ['clients', { ...CLIENT, code_lifetime: 0 }, ['code_lifetime', 'code_lifetime', 'code_lifetime']],
  ['resources', { ...RESOURCE, resource: 'a', name: ' ' }, ['resource', 'name']],
  ['resources', { ...RESOURCE, scopes: [{ name: 'notes', description: '' }] }, ['scopes']],
  ['resources', { ...RESOURCE, scopes: [{ name: 'notes', description: 'read | at most 0 times a week' }] }, ['scopes']],
  ['webhooks', { url: 'https://hooks.example/', events: ['nothing'] }, ['events']],
  ['webhooks', { url: 'ftp://hooks.example/' }, ['url']],
]

test('Each fault of a request to the API is listed as a sentence, and as an error with its member', async ({ owner }) => {
  for (const [subject, body, members] of FAULTY) {
    const answer = (await owner.call('POST', `/v1/${subject}`, body)).json()
    const errors = answer.errors as { member: string | null; detail: string }[]
    expect([subject, errors.map(({ member }) => member)]).toEqual([subject, members])
    expect(errors.map(({ detail }) => detail)).toEqual(answer.faults)
  }
  const without = (await owner.call('POST', '/v1/clients', {})).json()
  expect(without.errors).toEqual([{ member: null, detail: 'The body must have required properties name.' }])
})

test('Each fault of a form of the console is at the field of its member, and nowhere else', async ({ grantor }) => {
  await addOperator(grantor, OWNER, 'owner')
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  for (const [subject, body, members] of FAULTY) {
    const path = `/console/${subject}/new`
    const { body: page } = await browser.post(path, { ...(await browser.fieldsAt(path)), ...enteredOf(body) })
    const marked = [...page.matchAll(/class="field-problem" id="field-(\w+)-fault"/g)].map(([, name]) => name)
    expect([subject, new Set(marked)]).toEqual([subject, new Set(members)])
  }
})

/** Not at the ends of the ranges of numbers, which the command line checks by itself. */
const OF_RULES = FAULTY.filter(([, body]) => body.code_lifetime === undefined)

test('Each fault of a command is a line, and nothing is stored', async ({ owner }) => {
  const { env } = await newDatabase()
  const withSecret = { ...env, GRANTOR_SECRET: 'test-secret-that-wraps-the-keys-0123456789' }
  for (const [subject, body] of OF_RULES) {
    const { faults } = (await owner.call('POST', `/v1/${subject}`, body)).json() as { faults: string[] }
    const { exit, out, err } = await run([subject, 'create', ...argumentsOf(body)], withSecret)
    expect([subject, exit, out]).toEqual([subject, 2, ''])
    for (const fault of faults) expect(err.toLowerCase()).toContain(fault.slice(0, -1).toLowerCase())
    expect((await run([subject, 'list', '--json'], env)).out).toBe('[]\n')
  }
})

test('Each fault of an entry of a file of apply is named by the place of its member, and nothing is stored', async ({
  owner,
}) => {
  const { env } = await newDatabase()
  const withSecret = { ...env, GRANTOR_SECRET: 'test-secret-that-wraps-the-keys-0123456789' }
  const file = join(newFolder(), 'grantor.json')
  for (const [subject, body] of FAULTY) {
    writeFileSync(file, JSON.stringify({ [subject]: [body] }))
    const { errors } = (await owner.call('POST', `/v1/${subject}`, body)).json() as { errors: { member: string | null }[] }
    const { exit, err } = await run(['apply', file, '--yes'], withSecret)
    expect([subject, exit]).toEqual([subject, 2])
    for (const { member } of errors)
      expect(err).toContain(`line 1: ${member === null ? `${subject}[0]:` : `${subject}[0].${member}`}`)
    expect((await run([subject, 'list', '--json'], env)).out).toBe('[]\n')
  }
})

/** The members as options. The address of a resource and of a webhook has no option. */
function argumentsOf({ resource, url, type, ...members }: Record<string, unknown>): string[] {
  const one = (name: string): string => `--${name.replaceAll('_', '-').replace(/s$/, '')}`
  const textOf = (item: unknown): string =>
    typeof item === 'object' && item !== null ? Object.values(item).join('=') : String(item)
  const options = Object.entries(members).flatMap(([name, value]) => [value].flat().flatMap((item) => [one(name), textOf(item)]))
  return [...[resource ?? url ?? []].flat().map(String), ...options, ...(typeof type === 'string' ? [`--${type}`] : [])]
}

/** The members as an operator enters them in the fields of the form. */
function enteredOf(body: Record<string, unknown>): Record<string, string> {
  const lineOf = (item: unknown): string =>
    typeof item === 'object' && item !== null ? Object.values(item).join(': ') : String(item)
  const textOf = (value: unknown): string => (Array.isArray(value) ? value.map(lineOf).join('\n') : String(value))
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, textOf(value)]))
}
