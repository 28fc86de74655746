/** `grantor migrate --restored --journal`: a backup is brought up to what happened after it, and nothing else ends. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type App, appOf, startApp, tokensOf } from '../support/app.ts'
import { machineIn } from '../support/operations-page.ts'
import { hangUp } from '../support/send.ts'
import { startGrantor, TEST_SECRET } from '../support/start.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { owner } from '../support/wallet-contracts.ts'
import { newFolder, run } from './run.ts'

/** A service with a journal, a backup, and everything that can happen after it. */
async function lived() {
  const folder = newFolder()
  const machine = machineIn(folder)
  const journalFile = join(folder, 'journal.jsonl')
  const before = await startApp({ databasePath: machine.databasePath, journalFile })
  const { grantor, walk, client } = before
  const env = {
    GRANTOR_DATABASE_URL: `sqlite:${machine.databasePath}`,
    GRANTOR_SECRET: TEST_SECRET,
    GRANTOR_JOURNAL_FILE: journalFile,
  }
  const command = async (...argv: string[]) => {
    const ran = await run(argv, env, grantor.clock.now())
    expect([ran.exit, ran.err]).toEqual([0, ''])
    await grantor.noticeChanges()
    return ran
  }
  // Three people, so that one's ending is not another's.
  const people = [walk, ...(await Promise.all([1, 2, 3].map((index) => signedIn(before, index))))] as [Walk, Walk, Walk, Walk]
  const [disabled, deleted, renewed] = [await grantor.createClient(), await grantor.createClient(), await grantor.createClient()]
  const tokens = async (of: Walk, app = client) => appOf(grantor, client, of).freshTokens({}, app)
  const held = {
    untouched: await tokens(people[0]),
    refreshed: await tokens(people[0]),
    twice: await tokens(people[0]),
    revoked: await tokens(people[0]),
    replayed: await tokens(people[0]),
    accessRevoked: await tokens(people[0]),
    byOperator: await tokens(people[0]),
    ofDisabled: await tokens(people[0], disabled),
    ofDeleted: await tokens(people[0], deleted),
    ofRenewed: await tokens(people[0], renewed),
    appEnded: await tokens(people[1]),
    otherApp: await tokens(people[1], renewed),
    allEnded: await tokens(people[2]),
    signedOut: await tokens(people[3]),
  }
  grantor.clock.advance(10)
  expect(machine.paste('backup-node').exit).toBe(0)
  grantor.clock.advance(10)

  const refreshed = tokensOf(await walk.refresh(client, held.refreshed.refresh_token))
  const once = tokensOf(await walk.refresh(client, held.twice.refresh_token))
  const twice = tokensOf(await walk.refresh(client, once.refresh_token))
  await walk.revoke(client, held.revoked.refresh_token)
  const next = tokensOf(await walk.refresh(client, held.replayed.refresh_token))
  await walk.refresh(client, next.refresh_token)
  await walk.refresh(client, held.replayed.refresh_token)
  await walk.revoke(client, held.accessRevoked.access_token)
  const { grant_id: ofOperator } = JSON.parse(
    Buffer.from(held.byOperator.access_token.split('.')[1] ?? '', 'base64url').toString(),
  )
  await command('grants', 'revoke', '--grant', String(ofOperator))
  await command('clients', 'disable', disabled.id)
  await command('clients', 'delete', deleted.id, '--yes')
  await command('clients', 'rotate-secret', renewed.id, '--overlap', '0')
  await people[1].postForm('/account/apps/end', { client_id: client.id })
  await command('grants', 'revoke', '--wallet', people[2].wallet.address)
  await people[3].postForm('/account/sign-out', {})
  const later = await tokens(people[0])
  hangUp()
  await before.close()
  return {
    machine,
    journalFile,
    env,
    before,
    people,
    held,
    now: { refreshed, once, twice, later },
    clients: { disabled, deleted, renewed },
  }
}

async function signedIn(app: App, index: number): Promise<Walk> {
  const walk = new Walk(app.grantor, owner(`person ${index}`))
  await walk.signIn(requestOf(app.client))
  return walk
}

/** Puts the backup back and runs the command on it, `seconds` after everything was over. */
async function putBack({ machine, env, before }: Awaited<ReturnType<typeof lived>>, argv: string[], seconds = 1000) {
  writeFileSync(machine.databasePath, readFileSync(machine.backupPath))
  const ran = await run(['migrate', '--restored', '--json', ...argv], env, before.grantor.clock.now() + seconds)
  return { ...ran, told: ran.out === '' ? null : (JSON.parse(ran.out) as Told) }
}
const RESTORE = (file: string) => ['migrate', '--restored', '--json', '--journal', file]

type Told = {
  ended: Record<string, number>
  journal?: { accounts: boolean; faults: string[]; grants_moved_on: number }
  clients: { client_id: string; enabled: boolean; since_backup: string | null; secrets: { created_at: number | null }[] }[]
}

test('what ended since the backup ends, what was refreshed goes on where it was, and all else lives', {
  timeout: 30_000,
}, async () => {
  const life = await lived()
  const { before, held, now, people, clients, journalFile } = life
  const soon = await putBack(life, ['--journal', journalFile], 700)
  expect([soon.exit, soon.err]).toEqual([1, expect.stringContaining('may still be used: wait until')])

  const { told, err } = await putBack(life, ['--journal', journalFile])
  expect(err).toBe('')
  expect(told).toMatchObject({
    journal: { accounts: true, faults: [], grants_moved_on: 2 },
    ended: { sessions: 1, keys: 0 },
  })
  const again = await run(RESTORE(journalFile), life.env, before.grantor.clock.now() + 1000)
  expect(JSON.parse(again.out), 'repeated until it is confirmed it changes nothing more').toMatchObject({
    confirmed: false,
    journal: { accounts: true, grants_moved_on: 0 },
    ended: { grants: 0, sessions: 0, receipts: 0, keys: 0 },
  })
  expect((await run([...RESTORE(journalFile), '--yes'], life.env, before.grantor.clock.now() + 1000)).exit).toBe(0)

  before.grantor.clock.advance(1000)
  const { clock, ports } = before.grantor
  const grantor = await startGrantor({ databasePath: life.machine.databasePath, clock, ports })
  onTestFinished(() => grantor.close())
  const walk = new Walk(grantor)
  const refresh = async (token: { refresh_token: string }, of = before.client) =>
    (await walk.refresh(of, token.refresh_token)).status
  expect({
    untouched: await refresh(held.untouched),
    refreshed: await refresh(now.refreshed),
    twice: await refresh(now.twice),
    ofRenewed: await refresh(held.ofRenewed, clients.renewed),
    otherApp: await refresh(held.otherApp, clients.renewed),
    signedOut: await refresh(held.signedOut),
  }).toEqual({ untouched: 200, refreshed: 200, twice: 200, ofRenewed: 200, otherApp: 200, signedOut: 200 })
  expect({
    revoked: await refresh(held.revoked),
    replayed: await refresh(held.replayed),
    accessRevoked: await refresh(held.accessRevoked),
    byOperator: await refresh(held.byOperator),
    appEnded: await refresh(held.appEnded),
    allEnded: await refresh(held.allEnded),
    later: await refresh(now.later),
    ofDisabled: await refresh(held.ofDisabled, clients.disabled),
    ofDeleted: await refresh(held.ofDeleted, clients.deleted),
  }).toEqual({
    revoked: 400,
    replayed: 400,
    accessRevoked: 400,
    byOperator: 400,
    appEnded: 400,
    allEnded: 400,
    later: 400,
    ofDisabled: 401,
    ofDeleted: 401,
  })
  expect(await refresh(held.twice), 'a token that was used up since is a replay').toBe(400)
  expect(await refresh(now.twice), 'and ends its grant').toBe(400)

  const session = async (person: Walk) => {
    const browser = new Walk(grantor)
    for (const [name, value] of person.cookies) browser.cookies.set(name, value)
    return (await browser.authorize(requestOf(before.client))).location.includes('code=')
  }
  expect([await session(people[0]), await session(people[3])], 'who signed out is signed out').toEqual([true, false])
  const listed = told?.clients.find(({ client_id: id }) => id === clients.disabled.id)
  expect(listed).toMatchObject({ enabled: false, since_backup: 'disabled' })
  expect(told?.clients.find(({ client_id: id }) => id === clients.deleted.id)).toMatchObject({
    enabled: false,
    since_backup: 'deleted',
  })
  const renewed = told?.clients.find(({ client_id: id }) => id === clients.renewed.id)
  expect(renewed).toMatchObject({ enabled: true, since_backup: 'changed', secrets: [{ created_at: expect.any(Number) }] })
  expect(told?.clients.find(({ client_id: id }) => id === before.client.id)?.since_backup).toBeNull()

  // No line holds what could be used: neither tokens nor secrets nor whole addresses.
  const text = readFileSync(journalFile, 'utf8')
  for (const secret of [before.client.secret, clients.renewed.secret, held.untouched.refresh_token, now.refreshed.access_token])
    expect(text).not.toContain(secret)
  for (const { wallet, cookies } of people) {
    expect(text.toLowerCase()).not.toContain(wallet.address.slice(2).toLowerCase())
    for (const value of cookies.values()) if (value !== '') expect(text).not.toContain(value)
  }
})

test('a journal that was cut, of another service, or without one of the programs is not believed: all ends', {
  timeout: 30_000,
}, async () => {
  const life = await lived()
  const text = readFileSync(life.journalFile, 'utf8')
  const lines = text.trimEnd().split('\n')
  const file = join(newFolder(), 'journal.jsonl')
  const commands = lines.filter((line) => (JSON.parse(line) as { journal: number }).journal === 1)
  for (const [words, content] of [
    ['cut', lines.slice(0, -3).join('\n')],
    ['cut within a line', text.slice(0, -20)],
    ['begun later', lines.slice(5).join('\n')],
    ['a line in the middle is gone', lines.filter((_, index) => index !== 20).join('\n')],
    ['of another service', text.replaceAll(/"ledger":"\w+"/g, '"ledger":"0123456789abcdef"')],
    ['without the operator’s commands', commands.join('\n')],
    ['empty', ''],
  ] as const) {
    writeFileSync(file, content)
    const { told, err } = await putBack(life, ['--journal', file])
    expect(told?.journal, `${words}: ${err}`).toMatchObject({
      accounts: false,
      faults: expect.arrayContaining([expect.any(String)]),
    })
    expect({ words, ...told?.ended }).toMatchObject({ words, grants: 14, keys: 3 })
  }
})

test('--journal goes with --restored, and a file that is not there is one line, before anything is changed', async () => {
  const path = join(newFolder(), 'grantor.sqlite')
  const env = { GRANTOR_DATABASE_URL: `sqlite:${path}`, GRANTOR_SECRET: TEST_SECRET }
  await run(['migrate'], env)
  expect(await run(['migrate', '--journal', 'x'], env)).toMatchObject({ exit: 2 })
  const missing = await run(['migrate', '--restored', '--yes', '--journal', '/nowhere/journal'], env)
  expect(missing).toMatchObject({ exit: 1, err: 'grantor: cannot read the journal /nowhere/journal: ENOENT\n' })
})

test('a journal file that cannot be written stops the program with one line', async () => {
  const env = { GRANTOR_DATABASE_URL: `sqlite:${join(newFolder(), 'grantor.sqlite')}`, GRANTOR_JOURNAL_FILE: '/nowhere/journal' }
  await run(['migrate'], env)
  const create = ['clients', 'create', '--name', 'My app', '--redirect-uri', 'https://app.example.com/callback']
  expect(await run(create, env)).toMatchObject({
    exit: 1,
    err: 'grantor: cannot write GRANTOR_JOURNAL_FILE /nowhere/journal: ENOENT\n',
  })
  expect((await run(['clients', 'list', '--json'], { ...env, GRANTOR_JOURNAL_FILE: '' })).out).toBe('[]\n')
})
