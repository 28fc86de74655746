/** The browser posts the authorization response to the app, from a page of the service (OAuth 2.0 Form Post Response Mode). */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { launchBrowser, newPage, seriousAxeViolations } from '../support/browser.ts'
import { type ClientHost, startClientHost } from '../support/client-host.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { encode, requestOf, Walk } from '../support/walk.ts'

let browser: Browser
let grantor: Grantor
let app: ClientHost
let client: TestClient
let page: Page

beforeAll(async () => {
  browser = await launchBrowser()
  grantor = await startGrantor()
  app = await startClientHost((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<h1>The app</h1>')
  })
  client = await grantor.createClient({ name: 'Aurora Notes', redirectUris: [`${app.origin}/callback?tenant=7`] })
})
afterAll(async () => {
  await browser.close()
  await grantor.close()
  await app.close()
})
afterEach(() => page.context().close())

const STATE = 'a "state"/1 <&>'

/** Opens the app's authorization request in a browser that has a session. */
async function openRequest(javaScriptEnabled: boolean): Promise<void> {
  app.requests.length = 0
  page = await newPage(browser, { javaScriptEnabled })
  const walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
  const cookies = [...walk.cookies].map(([name, value]) => ({ name, value, url: grantor.authUrl }))
  await page.context().addCookies(cookies)
  const query = encode(requestOf(client, { response_mode: 'form_post', response_type: 'code', state: STATE }))
  await page.goto(`${grantor.authUrl}/oauth/authorize?${query}`)
}

/** The POST requests that the app has received. */
async function postsAtApp() {
  await page.getByText('The app').waitFor()
  return app.requests
    .filter(({ method }) => method === 'POST')
    .map(({ path, body }) => ({ path, ...Object.fromEntries(new URLSearchParams(body)) }))
}

const ANSWER = {
  path: '/callback?tenant=7',
  code: expect.stringMatching(/^grc\./),
  state: STATE,
  iss: expect.stringMatching(/^http:/),
}

test('With script the response is posted to the app at once, and once, under a policy that names the origin of the app', async () => {
  const problems: string[] = []
  await openRequest(true)
  page.on('console', (message) => problems.push(message.text()))
  expect(await postsAtApp()).toEqual([ANSWER])
  expect(problems).toEqual([])
})

test('Without script one button posts the response to the app', async () => {
  await openRequest(false)
  expect(app.requests).toEqual([])
  expect(await seriousAxeViolations(page)).toEqual([])
  await page.getByRole('button', { name: `Continue to localhost:${app.port}` }).click()
  expect(await postsAtApp()).toEqual([ANSWER])
})
