/** Everything that a collector receives, while every flow runs, has no secret of these flows. */
import { expect } from 'vitest'
import { openTracing } from '../../../src/observability/traces/open-tracing.ts'
import { tokensOf } from '../../support/app.ts'
import { startCollector } from '../../support/collector.ts'
import { allowDevice, authorizedDevice, createDeviceClient, poll } from '../../support/device.ts'
import { test as base, FILE, started } from '../../support/fixtures.ts'
import { runEverything, spellingsOf } from '../../support/full-run.ts'
import type { StartOptions } from '../../support/start.ts'

const test = base
  .extend(
    'collector',
    FILE,
    started(startCollector, (collector) => collector.close()),
  )
  .extend('tracing', FILE, ({ collector }) => {
    const url = `${collector.url}/v1/traces`
    const nothing = () => undefined
    return openTracing({
      url,
      headers: {},
      ratio: 1,
      serviceName: 'grantor',
      serviceVersion: '1.2.3',
      count: nothing,
      noteChange: nothing,
      delay: 20,
    })
  })
  .extend('options', FILE, ({ tracing }): StartOptions => ({ tracing }))

test('No span has a secret, code, token, signature, cookie, query or complete wallet address, whatever flow runs', async ({
  app,
  tracing,
  collector,
}) => {
  const secrets = await runEverything(app)
  const cli = await createDeviceClient(app.grantor)
  const device = await authorizedDevice(app.walk, cli)
  await poll(app.walk, cli, device)
  await allowDevice(app.walk, device)
  app.grantor.clock.advance(10)
  const { refresh_token, access_token } = tokensOf(await poll(app.walk, cli, device))
  const ofDevice = { 'device code': device.device_code, 'refresh token': refresh_token, 'access token': access_token }
  secrets.push(...Object.entries(ofDevice).map(([what, value]) => ({ what, value })))
  secrets.push({ what: 'user code', value: device.user_code })
  await tracing.stop()
  const received = Buffer.from(collector.bodies.join('\n'))
  expect(collector.spans.length).toBeGreaterThan(100)
  const found = secrets.filter((secret) => spellingsOf(secret).some((spelling) => received.includes(spelling)))
  expect(found.map(({ what }) => what)).toEqual([])
  expect(received.toString().toLowerCase()).not.toContain(app.walk.wallet.address.slice(2).toLowerCase())
  expect(received.toString()).not.toMatch(/0x[0-9a-fA-F]{40}|\?[a-z_]+=|gr[a-z]\.[A-Za-z0-9_-]{20}/)
  const names = new Set(collector.spans.map(({ name }) => name))
  for (const name of [
    'POST /oauth/token',
    'POST /oauth/revoke',
    'POST /login/accept',
    'POST /oauth/device_authorization',
    'store grants.redeemCode',
  ])
    expect(names).toContain(name)
})
