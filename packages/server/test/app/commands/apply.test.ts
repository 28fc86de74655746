import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../../src/app/main.ts'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { livingGrant } from '../../store/contract/subject.ts'
import { newDatabase, newFolder, type Ran, run } from '../run.ts'

const NOW = 1_800_000_000
const FILE = `
resources:
  - resource: https://mcp.example.com/mcp
    name: Notes
    scopes:
      - name: notes.read
        description: read your notes
clients:
  - name: My app
    redirect_uris: [https://app.example.com/callback]
  - name: My page
    type: public
    redirect_uris:
      - https://page.example.com/callback
`

let path: string
let env: Record<string, string>
let folder: string
beforeEach(async () => {
  ;({ path, env } = await newDatabase())
  folder = newFolder()
})

function write(text: string, name = 'grantor.yaml'): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

const apply = (text: string, ...options: string[]): Promise<Ran> => run(['apply', write(text), ...options], env)

/** Runs the command with a terminal. `answer` runs when the command asks. */
const applyAsked = (text: string, answer: (question: string) => Promise<string>, ...options: string[]): Promise<Ran> =>
  run(['apply', write(text), ...options], env, NOW, answer)

async function clients(): Promise<{ client_id: string; name: string; secrets: unknown[]; [member: string]: unknown }[]> {
  return JSON.parse((await run(['clients', 'list', '--json'], env)).out) as Awaited<ReturnType<typeof clients>>
}

function manyClients(count: number): string {
  const entries = Array.from({ length: count }, (_, n) => `  - {name: App ${n}, redirect_uris: ["https://app${n}.example/cb"]}\n`)
  return `clients:\n${entries.join('')}`
}

async function exported(...options: string[]): Promise<string> {
  const { exit, out, err } = await run(['export', ...options], env)
  expect([exit, err]).toEqual([0, ''])
  return out
}

describe('The plan', () => {
  test('apply creates what the file names, prints a secret once, and a second run changes nothing', async () => {
    const first = await apply(FILE, '--yes')
    expect([first.exit, first.err]).toEqual([0, ''])
    expect(first.out).toContain('create resource "Notes" (https://mcp.example.com/mcp)\n')
    expect(first.out).toMatch(/create client "My app" \([0-9a-f-]{36}\)\n {2}gets a client secret\n/)
    expect(first.out).toContain('Plan: 3 to create, 0 to change, 0 to delete, 0 unchanged.')
    expect(first.out.match(/shown only once: [\w-]{43}\n/g)).toHaveLength(1)
    const second = await apply(FILE, '--yes')
    expect(second).toEqual({ exit: 0, out: 'Nothing to change: 3 unchanged.\n', err: '' })
    expect((await clients()).map(({ name, secrets }) => [name, secrets.length])).toEqual(
      expect.arrayContaining([
        ['My app', 1],
        ['My page', 0],
      ]),
    )
  })

  test('apply prints the old and the new value of each member that differs, and keeps the secret', async () => {
    await apply(FILE, '--yes')
    const before = (await clients()).find(({ name }) => name === 'My app')
    const changed = FILE.replace('[https://app.example.com/callback]', '[https://app.example.com/new]\n    consent: signed')
    const { out } = await apply(changed, '--yes')
    expect(out).toContain(`change client "My app" (${before?.client_id})
  redirect_uris: removes "https://app.example.com/callback"
  redirect_uris: adds "https://app.example.com/new"
  consent: "session" → "signed"
Plan: 0 to create, 1 to change, 0 to delete, 2 unchanged.`)
    const after = (await clients()).find(({ name }) => name === 'My app')
    expect(after).toEqual({ ...before, redirect_uris: ['https://app.example.com/new'], consent: 'signed' })
    expect(out).not.toContain('secret')
  })

  test('The plan warns with the number of bytes of a text that some hardware wallets cannot sign', async () => {
    const addresses = { GRANTOR_AUTH_URL: 'https://auth.example.com', GRANTOR_LOGIN_URL: 'https://login.example.com' }
    const scopes = Array.from({ length: 8 }, (_, i) => `notes.scope-${i}`).join(', ')
    const text = FILE.replace(
      '  - name: My page',
      `    scopes: [${scopes}]\n    resources: [https://a.example/, https://b.example/]\n  - name: My page`,
    )
    const plan = await run(['apply', write(text), '--dry-run'], { ...env, ...addresses })
    expect(plan.out).toMatch(/\n  warning: The longest text that a wallet signs for this client has 1,\d{3} bytes\. /)
    expect(plan.out.match(/warning/g)).toHaveLength(1)
    const { out } = await run(['apply', write(text), '--yes', '--json'], { ...env, ...addresses })
    const { changes, applied } = JSON.parse(out) as { changes: { name: string; warnings?: string[] }[]; applied: number }
    expect([applied, changes.filter(({ warnings }) => warnings).map(({ name }) => name)]).toEqual([3, ['My app']])
  })

  test('apply --dry-run changes nothing, and its exit code is 1 if something would change', async () => {
    const { exit, out } = await apply(FILE, '--dry-run')
    expect([exit, out.includes('Plan: 3 to create')]).toEqual([1, true])
    expect(await clients()).toEqual([])
    await apply(FILE, '--yes')
    expect((await apply(FILE, '--dry-run')).exit).toBe(0)
  })

  test('Without a terminal and without --yes, apply changes nothing', async () => {
    const { exit, err } = await apply(FILE)
    expect([exit, err]).toEqual([2, expect.stringContaining('there is no terminal to ask on; add --yes')])
    expect(await clients()).toEqual([])
  })

  test('apply waits for one confirmation, and any answer but yes changes nothing', async () => {
    const asked: string[] = []
    const answer = async (question: string) => (asked.push(question), 'y')
    expect(await applyAsked(FILE, answer)).toMatchObject({ exit: 1, err: 'grantor: nothing was changed\n' })
    expect([asked.length, await clients()]).toEqual([1, []])
    expect((await applyAsked(FILE, async () => 'yes')).exit).toBe(0)
    expect(await clients()).toHaveLength(2)
  })

  test('A missing member has its default again, because an entry is the whole registration', async () => {
    await apply('clients:\n  - {name: A, redirect_uris: ["https://a.example/cb"], require_pkce: true, disabled: true}', '--yes')
    const { out } = await apply('clients:\n  - {name: A, redirect_uris: ["https://a.example/cb"]}', '--yes')
    expect(out).toContain('disabled: true → false\n')
    expect(out).toContain('require_pkce: true → false\n')
    expect(await clients()).toMatchObject([{ require_pkce: false, disabled_at: null }])
  })

  test('If a client begins to authenticate with a secret, it gets one, and if it stops, the plan names the secrets that end', async () => {
    const withMethod = (method: string) =>
      `clients:\n  - {name: A, redirect_uris: ["https://a.example/cb"], token_endpoint_auth_method: ${method}, jwks_uri: "https://a.example/jwks"}`
    await apply(withMethod('private_key_jwt'), '--yes')
    expect(await clients()).toMatchObject([{ secrets: [] }])
    expect((await apply(withMethod('client_secret_basic'), '--yes')).out).toMatch(
      / {2}gets a client secret\n[^]*shown only once: /,
    )
    expect(await clients()).toMatchObject([{ secrets: [{ expires_at: null }] }])
    expect((await apply(withMethod('private_key_jwt'), '--yes')).out).toContain('  1 client secret of it stop working\n')
    expect(await clients()).toMatchObject([{ secrets: [] }])
  })

  test('--json prints one object with the plan and the new secrets', async () => {
    const plan = JSON.parse((await apply(FILE, '--yes', '--json')).out) as { changes: { action: string }[]; secrets: unknown[] }
    expect(plan).toMatchObject({ unchanged: 0, applied: 3 })
    expect(plan.changes.map(({ action }) => action)).toEqual(['create', 'create', 'create'])
    expect(plan.secrets).toEqual([
      { client_id: expect.any(String), client_secret: expect.stringMatching(/^[\w-]{43}$/), name: 'My app' },
    ])
    expect(JSON.parse((await apply(FILE, '--yes', '--json')).out)).toEqual({ changes: [], unchanged: 3, secrets: [] })
  })
})

describe('Deletion', () => {
  test('Only --prune deletes, only in the sections that the file has, and the plan counts the grants that end', async () => {
    await apply(FILE, '--yes')
    const app = (await clients()).find(({ name }) => name === 'My app')
    const store = openSqliteStore(path)
    for (let count = 0; count < 3; count++) await livingGrant(store, { clientId: app?.client_id ?? '' })
    await store.close()
    expect((await apply('clients: []', '--yes')).out).toContain('Nothing to change')
    const { exit, out } = await apply('clients: []', '--prune', '--yes')
    expect(exit).toBe(0)
    expect(out).toContain(`delete client "My app" (${app?.client_id})\n  ends 3 active grants\n`)
    expect(out).toContain(`Deleted client ${app?.client_id} and ended 3 grants.\n`)
    expect(await clients()).toEqual([])
    expect(JSON.parse((await run(['resources', 'list', '--json'], env)).out)).toHaveLength(1)
    expect((await apply('resources: []', '--prune', '--yes')).out).toContain('delete resource "Notes"')
    expect(JSON.parse((await run(['resources', 'list', '--json'], env)).out)).toEqual([])
  })

  test('A section without a list is refused, because with --prune it would delete everything', async () => {
    const { exit, err } = await apply('clients:\n', '--prune', '--yes')
    expect([exit, err]).toEqual([2, expect.stringContaining('clients must be a list; an empty list is written as clients: []')])
  })
})

test('Two new records of one file whose names look alike are warnings of the plan', async () => {
  const scopes = [{ name: 'a', description: 'read' }]
  const resources = ['Notes', 'N0tes'].map((name, at) => ({ resource: `https://api${at}.example/`, name, scopes }))
  const clients = ['Aurora', 'AUR0RA'].map((name) => ({ name, redirect_uris: ['https://app.example/cb'] }))
  const { out, err } = await apply(JSON.stringify({ resources, clients }), '--dry-run')
  expect(err).toBe('')
  expect(out).toContain('warning: The name looks like that of the resource N0tes (https://api1.example/).')
  expect(out).toContain('warning: The name looks like that of the resource Notes (https://api0.example/).')
  expect(out).toMatch(/warning: The name looks like that of the client AUR0RA \(.{36}\)\./)
  expect(out).toMatch(/warning: The name looks like that of the client Aurora \(.{36}\)\./)
})

test('Each change of apply is a line of the audit trail', async () => {
  const acts = async () => {
    const { out } = await run(['audit', 'list', '--json'], env)
    const lines = out.trim().split('\n')
    return lines.map((line) => JSON.parse(line) as { event: string; details?: Record<string, unknown> })
  }
  await apply(FILE, '--yes')
  await apply(FILE.replace('app.example.com/callback', 'app.example.com/new'), '--yes')
  await apply('clients: []', '--yes', '--prune')
  await apply('operators: [{operator: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", role: owner}]', '--yes')
  const all = await acts()
  expect(all.map(({ event }) => event).toSorted((a, b) => a.localeCompare(b))).toEqual([
    'client_changed',
    'client_created',
    'client_created',
    'client_deleted',
    'client_deleted',
    'operator_added',
    'resource_created',
  ])
  expect(all.find(({ event }) => event === 'client_changed')?.details).toMatchObject({ changed: 'redirect_uris' })
  expect(all.find(({ event }) => event === 'client_deleted')?.details).toMatchObject({ grants: 0 })
})

describe('Operators', () => {
  const [ALICE, BOB] = ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8']
  const listed = (...operators: [id: string, role: string][]) =>
    `operators:\n${operators.map(([id, role]) => `  - {operator: "${id}", role: ${role}}`).join('\n')}`
  const roles = async () =>
    (JSON.parse((await run(['operators', 'list', '--json'], env)).out) as { operator: string; role: string }[]).map(
      ({ operator, role }) => `${operator} ${role}`,
    )

  test('The first owner is added before the others, whatever their order in the file', async () => {
    expect((await apply(listed([BOB, 'auditor'], [ALICE.toLowerCase(), 'owner']), '--yes')).exit).toBe(0)
    expect(await roles()).toEqual([`${BOB} auditor`, `${ALICE} owner`])
  })

  test('An owner can be replaced by another one in one file, also with --prune', async () => {
    await apply(listed([ALICE, 'owner']), '--yes')
    expect((await apply(listed([ALICE, 'auditor'], [BOB, 'owner']), '--yes')).out).toContain('role: "owner" → "auditor"')
    expect(await roles()).toEqual([`${BOB} owner`, `${ALICE} auditor`])
    expect((await apply(listed([ALICE, 'owner']), '--yes', '--prune')).out).toContain(`delete operator "owner" (${BOB})`)
    expect(await roles()).toEqual([`${ALICE} owner`])
  })

  test('A file after which no owner would remain is refused', async () => {
    const words = 'at least one owner must remain'
    expect((await apply(listed([ALICE, 'auditor']), '--yes')).err).toContain(words)
    await apply(listed([ALICE, 'owner']), '--yes')
    for (const text of [listed([ALICE, 'operator']), listed([BOB, 'operator']), 'operators: []'])
      expect((await apply(text, '--yes', '--prune')).err).toContain(words)
    expect(await roles()).toEqual([`${ALICE} owner`])
  })

  test('A client may be an operator if it is registered or in the same file', async () => {
    const id = '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'
    const operators = listed([ALICE, 'owner'], [id, 'auditor'])
    expect((await apply(operators, '--yes')).err).toContain('No client of this id is registered, or in this file')
    const client = `clients:\n  - {client_id: ${id}, name: A, redirect_uris: ["https://a.example/cb"]}\n`
    expect((await apply(`${client}${operators}`, '--yes')).exit).toBe(0)
    expect(await roles()).toEqual([`${id} auditor`, `${ALICE} owner`])
  })

  test.each([
    [listed(['me', 'owner']), 'operator must be a wallet address (0x…) or a client id'],
    [listed([ALICE, 'owner'], [ALICE.toLowerCase(), 'auditor']), 'The operator is named twice'],
    [listed([ALICE, 'admin']), 'operators[0].role must be one of owner, operator, auditor'],
    [
      'operators:\n  - {operator: 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, role: owner}',
      'operator must be a text; put it in quotes',
    ],
  ])('The operators %j are refused', async (text, words) => {
    expect((await apply(text, '--yes')).err).toContain(words)
    expect(await roles()).toEqual([])
  })

  test('If the role of an operator changes after the plan, apply stops', async () => {
    await apply(listed([ALICE, 'owner'], [BOB, 'operator']), '--yes')
    const meanwhile = async () => {
      await run(['operators', 'add', BOB, '--role', 'owner'], env)
      return 'yes'
    }
    expect((await applyAsked(listed([ALICE, 'owner'], [BOB, 'auditor']), meanwhile)).err).toContain('it was changed meanwhile')
    expect(await roles()).toContain(`${BOB} owner`)
  })
})

describe('Concurrent changes and failures', () => {
  test('If a client changes between the plan and the answer, apply stops before that client and names it', async () => {
    await apply(FILE, '--yes')
    const app = (await clients()).find(({ name }) => name === 'My app')
    const changed = FILE.replace('app.example.com/callback', 'app.example.com/new')
    const meanwhile = async () => {
      await run(['clients', 'update', app?.client_id ?? '', '--scope', 'openid', '--default-scope', 'openid'], env)
      return 'yes'
    }
    const { exit, err } = await applyAsked(changed, meanwhile)
    expect(exit).toBe(1)
    expect(err).toContain(`stopped after 0 of 1 change, at: change client "My app" (${app?.client_id}): it was changed meanwhile`)
    expect((await clients()).find(({ name }) => name === 'My app')).toMatchObject({
      scopes: ['openid'],
      redirect_uris: ['https://app.example.com/callback'],
    })
  })

  test('A secret that is rotated between the plan and the answer is kept', async () => {
    await apply(FILE, '--yes')
    const app = (await clients()).find(({ name }) => name === 'My app')
    const changed = FILE.replace('app.example.com/callback', 'app.example.com/new')
    const meanwhile = async () => {
      await run(['clients', 'rotate-secret', app?.client_id ?? ''], env)
      return 'yes'
    }
    expect((await applyAsked(changed, meanwhile)).exit).toBe(0)
    expect((await clients()).find(({ name }) => name === 'My app')).toMatchObject({
      secrets: [{ expires_at: null }, { expires_at: NOW + 86_400 }],
      redirect_uris: ['https://app.example.com/new'],
    })
  })

  test('If a client of the same name is registered between the plan and the answer, no second one is created', async () => {
    const meanwhile = async () => {
      await run(['clients', 'create', '--name', 'My app', '--redirect-uri', 'https://other.example/cb'], env)
      return 'yes'
    }
    const { exit, err } = await applyAsked(FILE, meanwhile)
    expect([exit, err]).toEqual([1, expect.stringContaining('a client of this name was registered meanwhile')])
    expect((await clients()).map(({ name }) => name).filter((name) => name === 'My app')).toHaveLength(1)
  })

  test('A deletion stops if the client changed after the plan, and if a resource changed after the plan', async () => {
    await apply(FILE, '--yes')
    const app = (await clients()).find(({ name }) => name === 'My app')
    const rename = async () => {
      await run(['clients', 'update', app?.client_id ?? '', '--name', 'Another'], env)
      await run(['resources', 'update', 'https://mcp.example.com/mcp', '--name', 'Other'], env)
      return 'yes'
    }
    expect((await applyAsked('resources: []', rename, '--prune')).err).toContain('it was changed meanwhile')
    const rescope = async () => {
      await run(['clients', 'update', app?.client_id ?? '', '--scope', 'openid', '--default-scope', 'openid'], env)
      return 'yes'
    }
    expect((await applyAsked('clients: []', rescope, '--prune')).err).toContain('it was changed meanwhile')
    expect((await clients()).map(({ name }) => name)).toContain('Another')
    expect(JSON.parse((await run(['resources', 'list', '--json'], env)).out)).toMatchObject([
      { name: 'Other', open_to: ['registered'] },
    ])
  })

  test('If the database fails in the middle, apply names the entry, keeps what was done, and a second run does the rest', async () => {
    const many = manyClients(60)
    const database = new DatabaseSync(path)
    let err = ''
    const exit = await main(['apply', write(many), '--yes'], {
      env,
      // The secrets of fifty clients are printed before these clients are written. From the next secret on, another process holds the lock.
      print: (line) => line.startsWith('Secret of "App 50"') && database.exec('BEGIN IMMEDIATE'),
      printError: (line) => void (err += `${line}\n`),
      now: () => NOW,
    })
    database.close()
    expect([exit, err]).toEqual([1, expect.stringContaining('stopped after 50 of 60 changes, at: create client "App 50"')])
    expect(err).toContain('the database cannot be used')
    expect(err).toContain('Run grantor apply again')
    expect((await apply(many, '--yes')).out).toContain('Plan: 10 to create, 0 to change, 0 to delete, 50 unchanged.')
    const stored = await clients()
    expect(new Set(stored.map(({ name }) => name)).size).toBe(60)
    expect(stored.every(({ secrets }) => secrets.length === 1)).toBe(true)
  })

  test('A client that was changed meanwhile stops apply, and the changes that were carried out at the same time stay and have their lines', async () => {
    const file = manyClients(60)
    await apply(file, '--yes')
    const meanwhile = async () => {
      const other = (await clients()).find(({ name }) => name === 'App 10')
      await run(['clients', 'update', other?.client_id ?? '', '--consent', 'signed'], env)
      return 'yes'
    }
    const { exit, err } = await applyAsked(file.replaceAll('/cb', '/new'), meanwhile)
    expect([exit, err]).toEqual([1, expect.stringContaining('stopped after 49 of 60 changes, at: change client "App 10"')])
    const changed = (await clients()).filter(({ redirect_uris: uris }) => String(uris).endsWith('/new'))
    expect(changed.map(({ name }) => name)).not.toContain('App 10')
    const { out } = await run(['audit', 'list', '--json', '--event', 'client_changed', '--limit', '100'], env)
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { client_id: string; details: { changed: string } })
    const byApply = lines.filter(({ details }) => details.changed === 'redirect_uris').map((line) => line.client_id)
    expect(new Set(byApply)).toEqual(new Set(changed.map(({ client_id: id }) => id)))
    expect(byApply).toHaveLength(49)
  })
})

describe('New secrets in a file', () => {
  test('--secrets creates a file that only its owner can read, and prints no secret', async () => {
    const file = join(folder, 'secrets.jsonl')
    const { exit, out } = await apply(FILE, '--yes', '--secrets', file)
    expect([exit, out.includes('shown only once')]).toEqual([0, false])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const secret = JSON.parse(readFileSync(file, 'utf8')) as { client_secret: string }
    expect(secret).toEqual({ client_id: expect.any(String), client_secret: expect.stringMatching(/^[\w-]{43}$/), name: 'My app' })
    expect(out).not.toContain(secret.client_secret)
  })

  test('--secrets never overwrites a file, and nothing is changed then', async () => {
    const file = write('keep me', 'secrets.jsonl')
    const { exit, err } = await apply(FILE, '--yes', '--secrets', file)
    expect([exit, err]).toEqual([2, expect.stringContaining('exists already, and is not overwritten; nothing was changed')])
    expect([readFileSync(file, 'utf8'), await clients()]).toEqual(['keep me', []])
  })

  test('If apply stops before the first secret, the file of --secrets does not stay', async () => {
    const file = join(folder, 'secrets.jsonl')
    const meanwhile = async () => {
      await run(['clients', 'create', '--name', 'My app', '--redirect-uri', 'https://other.example/cb'], env)
      await run(['resources', 'create', 'https://mcp.example.com/mcp', '--name', 'R', '--scope', 's=d'], env)
      return 'yes'
    }
    expect((await applyAsked(FILE, meanwhile, '--secrets', file)).exit).toBe(1)
    expect(existsSync(file)).toBe(false)
  })

  test('--secrets creates no file if no client gets a secret', async () => {
    const file = join(folder, 'secrets.jsonl')
    await apply('resources: []', '--yes', '--secrets', file)
    expect(existsSync(file)).toBe(false)
  })
})

describe('What the file may contain', () => {
  const refused = async (text: string, ...options: string[]): Promise<string> => {
    const { exit, out, err } = await apply(text, '--yes', ...options)
    expect([exit, out]).toEqual([2, ''])
    expect(await clients()).toEqual([])
    return err
  }
  const client = (members: string) => `clients:\n  - name: A\n    redirect_uris: [https://a.example/cb]\n${members}`

  test.each([
    [
      'An unknown member',
      client('    redirect_urls: []'),
      'line 4: clients[0].redirect_urls is not supported; did you mean redirect_uris?',
    ],
    ['An unknown section', 'client: []', 'line 1: client is not supported; did you mean clients?'],
    ['A member that is given twice', client('    name: B'), 'line 4: clients[0].name is given twice'],
    ['A member without a value', client('    scopes:'), 'line 4: clients[0].scopes has no value; leave it out'],
    ['A missing name', 'clients:\n  - scopes: [openid]', 'line 2: clients[0] needs name'],
    ['A number as a text', 'clients:\n  - name: 17', 'line 2: clients[0].name must be a text; put it in quotes'],
    ['A text as a flag', client('    require_pkce: yes'), 'line 4: clients[0].require_pkce must be true or false'],
    ['A text as a list', client('    scopes: openid'), 'line 4: clients[0].scopes must be a list of texts'],
    [
      'An unknown choice',
      client('    consent: sesion'),
      'line 4: clients[0].consent must be one of session, signed, not "sesion"; did you mean session?',
    ],
    [
      'A secret',
      client('    client_secret: abc'),
      'line 4: clients[0].client_secret is not supported. The file holds no secrets',
    ],
    ['An alias', 'clients:\n  - &a {name: A}\n  - *a', 'line 2: anchors (&a) are not supported'],
    ['A tag', client('    consent: !!str session'), 'line 4: tags (tag:yaml.org,2002:str) are not supported'],
    ['A custom tag', client('    consent: !js session'), 'line 4: Unresolved tag: !js'],
    ['A second document', 'clients: []\n---\nclients: []', 'line 2: '],
    ['Text that is not YAML', 'clients: [', 'line 1: '],
    ['An empty file', '', 'the file must have one or more of the sections resources, clients, operators'],
    ['A list of lists', 'clients:\n  - [a]', 'line 2: clients[0] must be an entry with members such as name'],
    [
      'A fault of the client itself',
      client('    scopes: ["two words"]'),
      'line 2: clients[0].scopes: Scope "two words" is not 1 to 64 of A-Z',
    ],
    ['A wildcard', 'clients:\n  - {name: A, redirect_uris: ["https://*.example/cb"]}', 'has a wildcard in its host'],
    ['A client id that is no UUID', client('    client_id: my-app'), 'client_id must be a UUID in lower case'],
    [
      'Two entries of one name',
      'clients:\n  - {name: A, redirect_uris: ["https://a.example/cb"]}\n  - {name: A, redirect_uris: ["https://b.example/cb"]}',
      'line 3: clients[1]: line 2: clients[0] means the same client',
    ],
    ['A resource that is named twice', 'resources:\n  - &a {resource: "https://a.example/", name: A, scopes: []}', 'anchors'],
  ])('%s is refused with its line and its path, and nothing is changed', async (_what, text, words) => {
    expect(await refused(text)).toContain(words)
  })

  test('Control characters of the file do not reach the terminal', async () => {
    const err = await refused('clients:\n  - {"\\e[2Jname": A, name: "\\u202etxt", redirect_uris: ["https://a.example/\\u0007"]}')
    expect(err.replaceAll('\n', '')).toMatch(/^[\x20-\x7e]+$/)
  })

  test('A private key in a JWK Set is refused, and the message does not repeat it', async () => {
    const err = await refused(client('    jwks: {keys: [{kty: EC, crv: P-256, x: xx, y: yy, d: the-private-part}]}'))
    expect(err).toContain('key 1 holds a secret: register the public key only')
    expect(err).not.toContain('the-private-part')
  })

  test('All faults of a file are listed at once, and at most twenty of them', async () => {
    expect((await refused('clients:\n  - {nam: A}\n  - {name: 1}')).match(/^ {2}- line/gm)).toHaveLength(3)
    const err = await refused(`clients:\n${'  - {x: 1}\n'.repeat(100)}`)
    expect(err.match(/^ {2}- line/gm)).toHaveLength(20)
    expect(err).toContain('and 180 more')
  })

  test('A file that is nested deeply, or that would expand, is refused', async () => {
    expect(await refused(`clients: ${'['.repeat(100_000)}`)).toMatch(/nested too deeply|line 1/)
    expect(await refused(`clients: ${'['.repeat(50)}${']'.repeat(50)}`)).toContain('nested too deeply')
    const bomb = `a: &a [x,x,x]\n${'bcdefgh'.replaceAll(/./g, (letter) => `${letter}: &${letter} [${`*${String.fromCharCode(letter.charCodeAt(0) - 1)},`.repeat(9)}]\n`)}`
    expect(await refused(bomb)).toContain('are not supported')
  })

  test('A file that cannot be read, or that is too large, is refused', async () => {
    expect((await run(['apply', join(folder, 'none.yaml')], env)).err).toContain('cannot be read (ENOENT)')
    expect(await refused(`#${'x'.repeat(10_000_000)}`)).toContain('the file has more than 10 million characters')
    expect(await refused(`#${'x'.repeat(40_000_000)}`)).toContain('is too large')
  })

  test('More entries than the store or a file may have are refused', async () => {
    const entry = (index: number) => `  - {resource: "https://r${index}.example/", name: R, scopes: [{name: s, description: d}]}`
    const list = (count: number) => `resources:\n${Array.from({ length: count }, (_, index) => entry(index)).join('\n')}`
    expect(await refused(list(1001))).toContain('resources has 1001 entries; at most 1000 are read')
    await run(['resources', 'create', 'https://other.example/', '--name', 'R', '--scope', 's=d'], env)
    expect(await refused(list(1000))).toContain('At most 1000 resources can be registered, and there would be 1001')
  })

  test('Two clients of one name are told apart by their ids', async () => {
    for (const host of ['a', 'b'])
      await run(['clients', 'create', '--name', 'Twin', '--redirect-uri', `https://${host}.example/cb`], env)
    const { err } = await apply('clients:\n  - {name: Twin, redirect_uris: ["https://c.example/cb"]}', '--yes')
    expect(err).toContain('2 clients are named "Twin": add the client_id')
    expect((await apply(await exported(), '--yes')).out).toContain('Nothing to change: 2 unchanged')
  })

  test('A limit of a scope is applied, shown as a change, and exported', async () => {
    await apply(FILE, '--yes')
    const limited = FILE.replace(
      'description: read your notes',
      'description: read your notes\n        limit: {uses: 20, per: week, unit: NESO, decimals: 2, amount: 50000, each: 5000}',
    )
    expect((await apply(limited)).out).toContain('50000')
    await apply(limited, '--yes')
    const limit = { uses: 20, per: 'week', unit: 'NESO', decimals: 2, amount: 50_000, each: 5_000 }
    expect(JSON.parse((await run(['resources', 'list', '--json'], env)).out)).toMatchObject([{ scopes: [{ limit }] }])
    expect(JSON.parse(await exported('--json'))).toMatchObject({ resources: [{ scopes: [{ limit }] }] })
    expect((await apply(await exported(), '--yes')).out).toContain('Nothing to change: 3 unchanged')
  })

  test.each([
    ['uses', '{uses: 0}'],
    ['uses', '{per: week}'],
    ['per', '{uses: 1, per: month}'],
    ['unit', '{uses: 1, unit: neso, decimals: 2, amount: 5, each: 5}'],
    ['decimals', '{uses: 1, unit: EUR, amount: 5, each: 5}'],
    ['amount', '{uses: 1, unit: EUR, decimals: 2, amount: 1.5, each: 1}'],
    ['each', '{uses: 1, unit: EUR, decimals: 2, amount: 5, each: 6}'],
    ['total', '{uses: 1, total: 5}'],
  ])('A limit in a file is refused, and the fault names the member %s: %s', async (member, limit) => {
    const { exit, err } = await apply(FILE.replace('your notes', `your notes\n        limit: ${limit}`), '--yes')
    expect([exit, err]).toEqual([2, expect.stringContaining(member)])
    expect(err).toContain('resources[0].scopes')
  })

  test('JSON is accepted, and export --json prints it', async () => {
    await apply(FILE, '--yes')
    const json = await exported('--json')
    expect(JSON.parse(json)).toMatchObject({ resources: [{ name: 'Notes' }], clients: [{ name: 'My app' }, { name: 'My page' }] })
    expect((await apply(json, '--yes')).out).toContain('Nothing to change: 3 unchanged')
  })

  test('The export contains no secret and no hash of one', async () => {
    const secret = /once: ([\w-]{43})/.exec((await apply(FILE, '--yes')).out)?.[1] ?? 'none'
    const text = await exported()
    expect(text).not.toMatch(/secretHash|secrets:/)
    expect(text).not.toContain(secret)
    expect(text).not.toMatch(/[\w-]{43}/)
  })
})
