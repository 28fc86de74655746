/** The approval of one action, from the link to the receipt, in English and in a language that is written from right to left. */
import type { Page } from 'playwright-core'
import { languages } from '../../src/pages/languages.ts'
import { LONG_HOST, LONG_SUMMARY } from '../pages/samples.ts'
import { appOf } from '../support/app.ts'
import { type ApprovalApp, approvalAppOf, createApi } from '../support/approvals.ts'
import type { Grantor } from '../support/start.ts'
import { requestOf, Walk } from '../support/walk.ts'
import { installWallet, testWallet } from '../support/wallet.ts'
import { checkLooks } from './looks.ts'

const RESOURCE = `https://${LONG_HOST}/`

/** A user with access of an app to an API with a long name, and that API. */
async function startApi(grantor: Grantor): Promise<{ app: ApprovalApp; token: string }> {
  const client = await grantor.createClient({ name: 'Aurora Notes', scopes: ['enhancement'], resources: [RESOURCE] })
  const walk = new Walk(grantor)
  await walk.signIn({ ...requestOf(client), prompt: 'login' })
  const app = approvalAppOf(appOf(grantor, client, walk), await createApi(grantor, { resourceServer: RESOURCE }))
  const { access_token: token } = await app.freshTokens({ resource: RESOURCE, scope: 'enhancement' })
  return { app, token }
}

const notice = (page: Page, kind: string) => page.locator(`[data-notice="${kind}"]`).waitFor()

for (const language of [languages.en, languages.ar])
  checkLooks(
    `In ${language.name}: the pages of an approval are accessible from the link to the receipt (WCAG 2.2 AA)`,
    { language },
    async function* ({ grantor, page }) {
      const { app, token } = await startApi(grantor)
      const asked = () => app.asked(token, { summary: LONG_SUMMARY })
      const wallet = await installWallet(page, testWallet(1), { name: 'Foxglove' })
      const named = (name: string): string => `${language.tag}-approval-${name}`

      const { approval_uri: link } = await asked()
      await page.goto(link)
      await page.locator('#languages summary').click()
      await page.getByRole('button', { name: language.name }).click()
      await page.locator(`html[lang="${language.tag}"] figure.action`).waitFor()
      yield named('question')
      await page.locator('button#sign').click()
      await page.locator('.wallet').click()
      await page.locator('#problem:not(:empty)').waitFor()
      yield named('another-wallet')
      await wallet.switchTo([testWallet(0)])
      await page.locator('#review').waitFor()
      yield named('text')
      await page.locator('#sign').click()
      await notice(page, 'approval_signed')
      yield named('signed')
      await page.goto(link)
      await notice(page, 'approval_was_signed')
      yield null

      const { approval_uri: second } = await asked()
      await page.goto(second)
      await page.locator('#decline').click()
      await notice(page, 'approval_declined')
      yield named('declined')
      const { approval_uri: third } = await asked()
      await page.goto(`${grantor.authUrl}/account`)
      await page.locator('.wallet').click()
      await page.locator('#sign').click()
      await page.locator('[aria-labelledby="waiting-title"]').waitFor()
      yield named('account')
      const approved = page.locator('.signed > details:has(blockquote)')
      await approved.locator('summary').first().click()
      await approved.locator('.links > a').first().click()
      await page.locator('figure.action').waitFor()
      yield named('receipt')
      grantor.clock.advance(601)
      await page.goto(third)
      await notice(page, 'approval_expired')
      yield named('expired')
    },
  )
