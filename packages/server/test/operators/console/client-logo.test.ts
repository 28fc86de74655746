/** The logo of a client in the console: a form with a file, without script. */
import { expect } from 'vitest'
import { CLIENT_LOGO, readLogo } from '../../../src/config/look/logo.ts'
import { parseMultipart } from '../../../src/operators/console/multipart.ts'
import { newPage } from '../../support/browser.ts'
import { test as base } from '../../support/fixtures.ts'
import { pngLogo } from '../../support/pictures.ts'
import { addOperator, OWNER, signInToConsole } from './visit.ts'

const read = readLogo(pngLogo({ width: 200, height: 100 }), CLIENT_LOGO)
if ('fault' in read) throw new Error(read.fault)
const { logo } = read
const test = base.extend('options', { admin: true })

test('An operator uploads a logo with a form, reads what will happen, and confirms; then removes the logo', async ({
  grantor,
  browser,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  const { id } = await grantor.createClient({ name: 'Aurora Notes' })
  const page = await newPage(browser)
  await signInToConsole(page, grantor, OWNER)
  await page.goto(`${grantor.adminUrl}/console/clients/${id}`)
  await page.getByRole('link', { name: 'Logo', exact: true }).click()
  await page.getByLabel('Logo').setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: logo.bytes })
  await page.locator('#continue').click()
  expect(await page.locator('#effect').textContent()).toBe(
    `Users see this picture beside the name: 200 × 100 pixels, ${logo.bytes.length} bytes.`,
  )
  await page.locator('#confirm').click()
  await page.getByText('The client has the logo.').waitFor()
  expect((await grantor.store.clients.readClient(id))?.logo).toEqual({ hash: logo.hash })
  await page.getByRole('link', { name: 'Remove the logo' }).click()
  await page.locator('#confirm').click()
  await page.getByText('The client has no logo.').waitFor()
  expect(await grantor.store.clients.readClientLogo(id)).toMatchObject({ client: { logo: null }, bytes: null })
  await page.context().close()
})

test('A file that is no picture is refused on the form, with its fault', async ({ grantor, browser }) => {
  await addOperator(grantor, OWNER, 'owner')
  const { id } = await grantor.createClient({ name: 'Aurora Notes' })
  const page = await newPage(browser)
  await signInToConsole(page, grantor, OWNER)
  await page.goto(`${grantor.adminUrl}/console/clients/${id}/set-logo`)
  await page.getByLabel('Logo').setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: Buffer.from('not a picture') })
  await page.locator('#continue').click()
  expect(await page.locator('#faults').textContent()).toContain('The picture is not a PNG.')
  expect((await grantor.store.clients.readClient(id))?.logo).toBeNull()
  await page.context().close()
})

const BOUNDARY = '----WebKitFormBoundaryabc123'
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`
const part = (head: string, content: string): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`
const END = `--${BOUNDARY}--\r\n`

test('A form with a file has its texts as they are, and the file as a data URI', () => {
  const body =
    part('name="form_token"', 'tökén\r\n2') + part('name="logo"; filename="a.png"\r\nContent-Type: image/png', 'AB') + END
  const form = parseMultipart(Buffer.from(body), TYPE)
  expect(form?.get('form_token')?.[0]?.text).toBe('tökén\r\n2')
  expect(form?.get('logo')?.[0]?.text).toBe(`data:image/png;base64,${Buffer.from('AB').toString('base64')}`)
  const empty = parseMultipart(Buffer.from(part('name="logo"; filename=""', '') + END), TYPE)
  expect(empty?.get('logo')?.[0]?.text).toBe('')
})

test.each([
  ['no end', part('name="a"', 'b'), TYPE],
  ['no name', part('filename="b"', 'b') + END, TYPE],
  ['no boundary', part('name="a"', 'b') + END, 'multipart/form-data'],
  ['another boundary', part('name="a"', 'b') + END, 'multipart/form-data; boundary=other'],
  ['no blank line', `--${BOUNDARY}\r\nContent-Disposition: form-data; name="a"\r\n${END}`, TYPE],
  ['too many parts', part('name="a"', 'b').repeat(101) + END, TYPE],
  ['nothing', '', TYPE],
])('A body that is not a form with a file (RFC 7578) is refused: %s', (_, body, type) => {
  expect(parseMultipart(Buffer.from(body), type)).toBeNull()
})
