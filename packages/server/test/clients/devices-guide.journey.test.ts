/** The blocks of docs/guides/devices.md, pasted one after another. */
import { expect } from 'vitest'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { blocksOf } from '../support/page-blocks.ts'
import { Development, TEST_ACCOUNT } from './pasted-page.ts'

const BLOCKS = blocksOf('guides/devices.md')

const test = base.extend(
  'development',
  FILE,
  started(Development.start, (development) => development.stop()),
)

test('The page for devices has the blocks that the tests of this file run', () => {
  expect(BLOCKS.map(({ language }) => language)).toEqual(['text', 'sh', 'sh', 'json', 'sh'])
})

test('Each command of the page for devices works when the commands are pasted one after another', async ({ development }) => {
  const [, register, authorize, response, poll] = BLOCKS.map(({ text }) => text)
  expect(await development.paste(register ?? '')).toMatch(/^[0-9a-f-]{36}$/)
  const device = JSON.parse(await development.paste(authorize ?? '')) as Record<string, string>
  const printed = JSON.parse((response ?? '').replaceAll(':4000', `:${development.port}`)) as Record<string, string>
  expect(Object.keys(device)).toEqual(Object.keys(printed))
  const { verification_uri, expires_in, interval } = printed
  expect(device).toMatchObject({ verification_uri, expires_in, interval })

  expect(JSON.parse(await development.paste(poll ?? ''))).toMatchObject({ error: 'authorization_pending' })
  // Another code, so that the test need not wait for the interval.
  const another = JSON.parse(await development.paste(authorize ?? '')) as Record<string, string>
  await development.allowDevice(another.verification_uri_complete ?? '')
  expect(JSON.parse(await development.paste(poll ?? ''))).toMatchObject({ token_type: 'Bearer', scope: 'enhancement' })
})

test('The command that `npm start` prints is that of the page, and calls the demo API after the signature', async ({
  development,
}) => {
  const text = BLOCKS[0]?.text ?? ''
  const words = text
    .trim()
    .replaceAll(/:400([03])/g, (_, digit: string) => `:${development.port + Number(digit)}`)
    .split('CLIENT_ID')
  const printed = development.banner.split('\n').find((line) => line.includes('cli-device')) ?? ''
  const [, before = '', id = '', after = ''] = /^ +npx node \S+ (\S+) (\S+) (\S+)$/.exec(printed) ?? []
  expect([`npx node packages/server/demo/cli-device/index.ts ${before} `, ` ${after}`]).toEqual(words)

  const result = development.paste(text.replace('CLIENT_ID', id))
  const code = async () => /^ {4}([A-Z]{4}-[A-Z]{4})$/m.exec(development.printed())?.[1]
  await expect.poll(code).toBeDefined()
  await development.allowDevice(`${development.issuer}/device?user_code=${await code()}`)
  expect(await result).toContain(`answered 200: {"wallet":"${TEST_ACCOUNT}"`)
})
