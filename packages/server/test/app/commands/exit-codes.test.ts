/** The operations on the command line: the exit code and the line of each. Their rules: packages/server/test/operators/operations. */
import { expect, test } from 'vitest'
import { newDatabase, run } from '../run.ts'

const REDIRECT_URI = 'https://app.example.com/callback'
const RESOURCE = 'https://mcp.example.com/mcp'
const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

type Step = [argv: string[], exit: number, words: RegExp]
/** `ID` is the id of the record that the first command created. The words are those of standard error if the exit code is not 0. */
const STEPS: [subject: string, ...Step[]][] = [
  [
    'clients',
    [['create', '--name', 'A', '--redirect-uri', REDIRECT_URI], 0, /client_secret +[\w-]{43}\n[^]*shown only once/],
    [['create', '--name', 'A', '--redirect-uri', 'http://app.example.com/'], 2, /\n {2}- .*plain http outside loopback/],
    [['create', '--redirect-uri', REDIRECT_URI], 2, /--name is missing/],
    [['show', 'ID'], 0, /client_id +\S+\n/],
    [['update', 'ID', '--name', 'B'], 0, /B/],
    [['update', 'ID'], 2, /no change was named/],
    [['update', 'ID', '--scope', 'a b'], 2, /Scope "a b"/],
    [['rotate-secret', 'ID', '--overlap', '0'], 0, /The earlier secrets are no longer valid/],
    [['disable', 'ID'], 0, /./],
    [['enable', 'ID'], 0, /./],
    [['end-grants', 'ID', '--yes'], 0, /^Ended 0 grants\.\n$/],
    [['delete', 'ID'], 2, /--yes/],
    [['delete', 'ID', '--yes'], 0, /^Deleted the client and ended 0 grants\.\n$/],
    ...['show', 'rotate-secret', 'disable', 'enable', 'delete', 'update'].map((verb): Step => {
      const more = verb === 'delete' ? ['--yes'] : verb === 'update' ? ['--name', 'x'] : []
      return [[verb, 'ID', ...more], 1, /^grantor: there is no client "[^"]+"; see: grantor clients list\n$/]
    }),
  ],
  [
    'resources',
    [['create', RESOURCE, '--name', 'Notes', '--scope', 'notes=read'], 0, /^Registered "Notes"\./],
    [['create', RESOURCE, '--name', 'Other', '--scope', 'notes=read'], 1, /is registered already/],
    [['create', '/mcp', '--name', 'N', '--scope', 'a=do a'], 2, /./],
    [['show', RESOURCE], 0, /scope +notes: read\n/],
    [['update', RESOURCE, '--closed'], 0, /./],
    [['update', RESOURCE], 2, /no change was named/],
    [['update', RESOURCE, '--closed', '--open-to', 'metadata'], 2, /keep one/],
    [['delete', RESOURCE], 2, /--yes/],
    [['delete', RESOURCE, '--yes'], 0, /./],
    [['list'], 0, /No resource is registered yet/],
    [['show', RESOURCE], 1, /^grantor: there is no resource "https:[^"]+"; see: grantor resources list\n$/],
    [['update', RESOURCE, '--closed'], 1, /^grantor: there is no resource "https:[^"]+"; see: grantor resources list\n$/],
    [['delete', RESOURCE, '--yes'], 1, /^grantor: there is no resource "https:[^"]+"; see: grantor resources list\n$/],
  ],
  [
    'webhooks',
    [['create', 'https://siem.example.com/'], 0, /whsec_/],
    [['create', 'nonsense'], 2, /URL /],
    [['create', 'https://siem.example.com/', '--event', 'grant_ends'], 2, /did you mean grant_ended\?/],
    [['show', 'ID'], 0, /state +delivers/],
    [['update', 'ID', '--event', 'no_event'], 2, /not an event of the trail/],
    [['replay', 'ID', '--line', '1'], 0, /^Sends the lines again\.\n$/],
    [['replay', 'ID', '--line', '99'], 2, /last line/],
    [['replay', 'ID'], 2, /--line is missing/],
    [['pause', 'ID'], 0, /^Paused\.\n$/],
    [['resume', 'ID'], 0, /^Resumed\.\n$/],
    [['delete', 'ID'], 0, /^Deleted\.\n$/],
    ...['show', 'pause', 'resume', 'delete', 'test'].map((verb): Step => [[verb, 'ID'], 1, /there is no webhook/]),
  ],
  ['draws', [['list'], 2, /--grant is missing/], [['list', '--grant', 'unknown'], 1, /there is no grant/]],
  ['deliveries', [['list'], 2, /--webhook is missing/], [['list', '--webhook', 'unknown'], 1, /there is no webhook/]],
  [
    'operators',
    [['add', WALLET, '--role', 'auditor'], 1, /first operator must be an owner/],
    [['add', WALLET, '--role', 'owner'], 0, /is owner now/],
    [['add', 'unknown', '--role', 'owner'], 2, /address of a wallet/],
    [['list'], 0, /owner/],
    [['remove', WALLET], 1, /last owner/],
  ],
]

test.for(STEPS)(
  'The commands for %s perform their operations, and the exit code has the outcome',
  async ([subject, ...steps]) => {
    const { env } = await newDatabase()
    const withSecret = { ...env, GRANTOR_SECRET: 'test-secret-that-wraps-the-keys-0123456789' }
    let id = ''
    for (const [argv, exit, words] of steps) {
      const given = [subject, ...argv.map((text) => (text === 'ID' ? id : text))]
      const ran = await run(given, withSecret)
      expect([given, ran.exit, exit === 0 ? ran.out : ran.err]).toEqual([given, exit, expect.stringMatching(words)])
      if (exit !== 0) expect(ran.out).toBe('')
      id ||= /_id +(\S+)/.exec(ran.out)?.[1] ?? ''
    }
  },
)
