/** The pages of the console, with records in them. */
import { expect } from 'vitest'
import { releaseVersion } from '../../src/app/compose/version.ts'
import { PLATFORM_LOGO, readLogo } from '../../src/config/look/logo.ts'
import { ActivityCounter } from '../../src/domain/activity/activity-counter.ts'
import { addJob } from '../../src/domain/operators/jobs.ts'
import { connectApp } from '../flows/account-visit.ts'
import { addOperator, OTHER, OWNER, signInToConsole } from '../operators/console/visit.ts'
import { adminCaller } from '../support/admin.ts'
import { pngLogo } from '../support/pictures.ts'
import type { Grantor } from '../support/start.ts'
import { testWallet } from '../support/wallet.ts'
import { checkLooks, LOOKS, type Service, TWO_LOOKS, type Visit } from './looks.ts'

const USER = testWallet(2)

/** A service with clients, grants, refusals, a resource, keys and a job. */
async function furnish(grantor: Grantor): Promise<{ clientId: string; jobId: string }> {
  await addOperator(grantor, OWNER, 'owner')
  await addOperator(grantor, OTHER, 'auditor')
  await grantor.store.resources.insertResource({
    uri: 'https://notes.example.com/api',
    name: 'Aurora Notes API',
    scopes: [
      { name: 'notes.read', description: 'read your notes' },
      { name: 'notes.write', description: 'change your notes' },
    ],
    openTo: ['registered', 'metadata'],
    createdAt: grantor.clock.now() - 86_400,
  })
  const client = await grantor.createClient({ name: 'Aurora Notes', scopes: ['enhancement', 'profile'] })
  const second = await grantor.createClient({ name: 'Harbour Exchange', consent: 'signed' })
  await grantor.createClient({
    name: 'Tide Pools',
    type: 'native',
    consent: 'signed',
    redirectUris: ['net.example.tide:/callback'],
  })
  for (const each of [client, client, second]) await connectApp(grantor, each, USER)
  await grantor.store.clients.changeClient(second.id, (present) => ({ ...present, disabledAt: grantor.clock.now() }))
  const caller = await adminCaller(grantor, 'owner')
  for (const kind of ['sign', 'seal']) await caller.call('POST', '/v1/keys', { kind })
  await caller.call('POST', '/v1/webhooks', { url: 'https://siem.example.com/grantor', events: ['grant_ended'] })
  await failDeliveries(grantor)
  await load(grantor)
  await signInsOfAMonth(grantor)
  const job = await addJob(
    grantor.store,
    { kind: 'end_grants_of_client', clientId: second.id, startedBy: OWNER.address },
    grantor.clock.now(),
  )
  return { clientId: client.id, jobId: job?.id ?? '' }
}

/** Sign-ins on each day of a month, so that the chart has bars. */
async function signInsOfAMonth({ store, clock }: Grantor): Promise<void> {
  const now = clock.now()
  for (let day = 29; day >= 0; day--) {
    const counter = new ActivityCounter(store.activity, () => now - day * 86_400)
    const count = 140 - 4 * day + Math.round(30 * Math.sin(day))
    for (let n = 0; n < count; n++) counter.noteSignIn(`0x${(day * 37 + n) % 900}`)
    await counter.store()
  }
}

/** Lines of a webhook that were accepted, a line whose attempts fail, and a test. */
async function failDeliveries({ store, clock }: Grantor): Promise<void> {
  const [webhook] = await store.webhooks.listWebhooks()
  if (!webhook) throw new Error('there is no webhook')
  const at = clock.now()
  const attempt = { event: 'grant_ended', status: 204, failure: null, milliseconds: 48 }
  const failing = { ...attempt, line: webhook.cursor + 1, status: null, failure: 'timed_out', milliseconds: 10_003 }
  await store.webhooks.logAttempts(webhook.id, [
    { ...attempt, at: at - 7200, line: 12 },
    { ...failing, at: at - 95 },
    { ...failing, at: at - 90 },
    { ...attempt, at: at - 40, line: null, event: 'webhook_test', status: 503, failure: 'status_503' },
    { ...failing, at: at - 30 },
  ])
  await store.webhooks.changeWebhook(webhook.id, (present) => ({
    ...present,
    events: ['grant_ended', 'key_made'],
    cursor: 2,
    failingSince: at - 95,
    nextAt: at + 3600,
  }))
}

/** Half an hour of requests, so that the plots have a line. */
async function load(grantor: Grantor): Promise<void> {
  for (let minute = 0; minute < 30; minute++) {
    const requests = 3 + Math.round(4 * Math.sin(minute / 4) + (minute % 5))
    for (let n = 0; n < requests; n++) await fetch(`${grantor.authUrl}/.well-known/openid-configuration`)
    if (minute % 3 === 0)
      await fetch(`${grantor.authUrl}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'authorization_code', client_id: 'x' }),
      })
    grantor.clock.advance(60)
  }
}

// The foot of the pictures names the release, and not a commit.
process.env.RELEASE_VERSION ??= releaseVersion()

const CONSOLE: Service = () => ({ admin: true })

type Ids = { clientId: string; jobId: string; grantId: string; webhookId: string }
let furnished: Promise<Ids> | undefined

async function furnishOnce(grantor: Grantor): Promise<Ids> {
  const { clientId, jobId } = await furnish(grantor)
  const [grant] = await grantor.store.grants.listGrants({ clientId, limit: 1 })
  const [webhook] = await grantor.store.webhooks.listWebhooks()
  return { clientId, jobId, grantId: grant?.id ?? '', webhookId: webhook?.id ?? '' }
}

/** Signs in to a console with records. */
async function enter({ grantor, page }: Visit, operator = OWNER): Promise<Ids> {
  const ids = await (furnished ??= furnishOnce(grantor))
  await signInToConsole(page, grantor, operator)
  return ids
}

/** The paths of the pages, by subject: all of them in one test would take minutes. */
const PAGES: Record<string, (ids: Ids) => Record<string, string>> = {
  'Each page of the console for clients, resources and jobs': ({ clientId, jobId }) => ({
    overview: '',
    clients: '/clients',
    'clients-sorted': '/clients?sort=name&order=descending&search=e',
    client: `/clients/${clientId}`,
    resources: '/resources',
    resource: `/resources/${encodeURIComponent('https://notes.example.com/api')}`,
    jobs: '/jobs',
    job: `/jobs/${jobId}`,
  }),
  'Each page of the console for wallets, grants and sessions': ({ grantId }) => ({
    wallet: `/wallet?wallet=${USER.address}`,
    grants: '/grants',
    grant: `/grants/${grantId}`,
    sessions: '/sessions',
  }),
  'Each page of the console for keys, operators, audit trail, webhooks and settings': ({ webhookId }) => ({
    keys: '/keys',
    operators: '/operators',
    audit: '/audit',
    webhooks: '/webhooks',
    webhook: `/webhooks/${webhookId}`,
    settings: '/settings',
    refused: '/clients/unknown',
  }),
  'Each form of the console and the question before a deletion': ({ clientId, webhookId }) => ({
    'client-form': '/clients/new',
    'client-delete': `/clients/${clientId}/delete`,
    'client-secret': `/clients/${clientId}/rotate-secret`,
    'client-logo': `/clients/${clientId}/set-logo`,
    'resource-form': '/resources/new',
    'operator-form': '/operators/new',
    'grants-end': `/grants/end?client_id=${clientId}`,
    'webhook-form': '/webhooks/new',
    'webhook-replay': `/webhooks/${webhookId}/replay`,
  }),
}

for (const [subject, pathsOf] of Object.entries(PAGES))
  checkLooks(
    `${subject} is accessible at 320 px and on a desktop, light and dark (WCAG 2.2 AA)`,
    { service: CONSOLE },
    async function* (visit) {
      for (const [name, path] of Object.entries(pathsOf(await enter(visit)))) {
        await visit.page.goto(`${visit.grantor.adminUrl}/console${path}`)
        if (name === 'audit') await visit.page.locator('.trail summary').first().click()
        if (name === 'client-form') await visit.page.getByText('More settings').click()
        yield `console-${name}`
      }
    },
  )

checkLooks(
  'The sign-in of the console is accessible (WCAG 2.2 AA)',
  { service: CONSOLE, looks: [LOOKS[0]] },
  async function* ({ grantor, page }) {
    await page.goto(`${grantor.adminUrl}/console`)
    yield 'console-sign-in'
  },
)

checkLooks(
  'A form with faults, the question after the form, and the page of a secret are accessible at 320 px and on a desktop, light and dark (WCAG 2.2 AA)',
  { service: CONSOLE },
  async function* (visit) {
    const { page } = visit
    const { clientId } = await enter(visit)
    const console = `${visit.grantor.adminUrl}/console/clients`
    await page.goto(`${console}/new`)
    await page.getByLabel('Redirect URIs', { exact: true }).fill('http://app.example.com/callback')
    await page.locator('#continue').click()
    yield 'console-form-faults'
    await page.getByLabel('Name', { exact: true }).fill('Aurora Notes')
    await page.getByLabel('Redirect URIs', { exact: true }).fill('https://app.example.com/callback')
    await page.locator('#continue').click()
    yield 'console-form-question'
    await page.goto(`${console}/new`)
    yield 'console-form-begun'
    await page.goto(`${console}/${clientId}/rotate-secret`)
    await page.locator('#continue').click()
    await page.locator('#confirm').click()
    yield 'console-secret'
  },
)

checkLooks('An auditor sees the pages without buttons', { service: CONSOLE, looks: TWO_LOOKS }, async function* (visit) {
  const { clientId } = await enter(visit, OTHER)
  await visit.page.goto(`${visit.grantor.adminUrl}/console/clients/${clientId}`)
  expect(await visit.page.locator('main a.button, main form').count()).toBe(0)
  yield null
})

const read = readLogo(pngLogo({ width: 120, height: 60 }), PLATFORM_LOGO)
if ('fault' in read) throw new Error(read.fault)
const look = { name: 'Aurora Pay', accentColor: '#0b2a6f', logo: read.logo, helpUrl: 'https://aurora.example/help' }

checkLooks(
  'The console shows the look of the pages in the light and the dark scheme at once, whatever the scheme of the operator',
  { service: () => ({ admin: true, look }) },
  async function* ({ grantor, page, errors }) {
    await addOperator(grantor, OWNER, 'owner')
    await signInToConsole(page, grantor, OWNER, '/console/look')
    errors.length = 0
    await page.goto(`${grantor.adminUrl}/console/look`)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const colors = (scheme: string) =>
        page.locator(`.scheme-${scheme}`).evaluate((shown) => {
          const button = shown.querySelector('.button')
          return [getComputedStyle(shown).backgroundColor, button && getComputedStyle(button).backgroundColor]
        })
      expect(await colors('light')).toEqual(['rgb(233, 238, 233)', 'rgb(11, 42, 111)'])
      expect((await colors('dark'))[0]).toBe('rgb(11, 18, 15)')
    }
    expect(await page.locator('.preview').first().textContent()).toContain('Aurora Pay')
    for (const image of await page.locator('.preview .masthead img').all())
      expect(await image.evaluate((picture: HTMLImageElement) => picture.naturalWidth)).toBe(120)
    yield 'console-look'
    expect(errors).toEqual([])
  },
)
