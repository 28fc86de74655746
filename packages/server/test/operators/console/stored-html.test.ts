/** Markup in every stored text that the console shows. */
import { expect } from 'vitest'
import { addJob } from '../../../src/domain/operators/jobs.ts'
import { connectApp } from '../../flows/account-visit.ts'
import { test as base } from '../../support/fixtures.ts'
import { testWallet } from '../../support/wallet.ts'
import { addOperator, OWNER, signInToConsole } from './visit.ts'

const USER = testWallet(2)
/** Markup that ends an attribute, an element and a script. Its script runs if a part of it is parsed as markup. */
const MARKUP = `"'><img src=x onerror="document.title='pwned'"><script>document.title='pwned'</script></textarea></title>`

const test = base.extend('options', { admin: true })

test('Markup in names, URIs, scopes, descriptions, reasons and values of the audit trail is shown as text on every page', async ({
  grantor,
  page,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  const { store, clock, deps } = grantor
  const at = clock.now()
  const client = await grantor.createClient({ name: 'Hostile' })
  await connectApp(grantor, client, USER)
  // Rules refuse most of these texts today. The pages must not depend on these rules.
  await store.clients.changeClient(client.id, (present) => ({
    ...present,
    name: MARKUP,
    redirectUris: [`https://a.example/${MARKUP}`],
    scopes: [MARKUP],
    resources: [MARKUP],
    backchannelLogoutUri: MARKUP,
  }))
  await store.resources.insertResource({
    uri: `urn:x:${MARKUP}`,
    name: MARKUP,
    scopes: [{ name: MARKUP, description: MARKUP }],
    openTo: ['registered'],
    createdAt: at,
  })
  await grantor.noticeChanges()
  const [grant] = await store.grants.listGrants({ clientId: client.id, limit: 1 })
  const job = await addJob(store, { kind: 'end_grants_of_client', clientId: client.id, startedBy: MARKUP }, at)
  await store.lists.changeList('operators', (operators) => [...operators, { id: MARKUP, role: 'auditor', createdAt: at }])
  await deps.audit({
    event: 'client_changed',
    client_id: MARKUP,
    operator: MARKUP,
    resource: MARKUP,
    details: { [MARKUP]: MARKUP },
  })

  await signInToConsole(page, grantor)
  const uri = encodeURIComponent(`urn:x:${MARKUP}`)
  const paths = [
    '',
    '/clients',
    `/clients?search=${encodeURIComponent(MARKUP)}`,
    `/clients/${client.id}`,
    `/clients/${client.id}/change`,
    `/clients/${client.id}/delete`,
    `/clients/${client.id}/disable`,
    '/jobs',
    `/jobs/${job?.id}`,
    '/resources',
    `/resources/${uri}`,
    `/resources/${uri}/change`,
    `/resources/${uri}/delete`,
    `/wallet?wallet=${USER.address}`,
    `/wallet?wallet=${encodeURIComponent(MARKUP)}`,
    `/grants/${grant?.id}`,
    `/grants/${grant?.id}/end`,
    `/keys/rotate?kind=mac&more=${encodeURIComponent(MARKUP)}`,
    '/operators',
    `/operators/${encodeURIComponent(MARKUP)}/remove`,
    '/audit',
    `/audit?event=${encodeURIComponent(MARKUP)}&wallet=${encodeURIComponent(MARKUP)}`,
    `/${encodeURIComponent(MARKUP)}`,
  ]
  for (const path of paths) {
    await page.goto(`${grantor.adminUrl}/console${path}`)
    expect([path, await page.locator('main img, main script, [onerror]').count()]).toEqual([path, 0])
    expect([path, await page.evaluate(() => document.title === 'pwned')]).toEqual([path, false])
  }
})
