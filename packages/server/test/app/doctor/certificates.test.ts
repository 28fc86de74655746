import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates, type TlsOptions } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { checkCertificates } from '../../../src/app/doctor/certificates.ts'
import type { CheckResult, Site } from '../../../src/app/doctor/check.ts'
import { makeCertificate } from '../../support/certificates.ts'
import { newFolder } from '../run.ts'

const DAY = 86_400
const now = () => Math.floor(Date.now() / 1000)

/** Serves a certificate for these names on a free port. */
async function serveTls(names: string, chain: 'whole' | 'leaf' | 'self-signed' = 'self-signed', versions: TlsOptions = {}) {
  const folder = newFolder()
  const issuer = makeCertificate(folder, 'issuer')
  const made = makeCertificate(folder, 'server', { names, ...(chain === 'self-signed' ? {} : { issuer }) })
  const server = createServer({ cert: readFileSync(made.cert), key: readFileSync(made.key), ...versions }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    certificate: readFileSync(made.cert, 'utf8'),
    issuer: readFileSync(issuer.cert, 'utf8'),
  }
}

async function checkAll(authUrl: string, at: number, adminUrl?: string): Promise<CheckResult[]> {
  const site = { settings: { authUrl, loginUrl: 'http://localhost:1', adminUrl }, now: () => at } as unknown as Site
  return checkCertificates(site)
}

async function check(url: string, at = now()): Promise<CheckResult | undefined> {
  return (await checkAll(url, at))[0]
}

function trust(certificate: string): void {
  const usual = getCACertificates('default')
  setDefaultCACertificates([...usual, certificate])
  onTestFinished(() => setDefaultCACertificates(usual))
}

test('A certificate that this machine trusts is ok, and the finding counts its days', async () => {
  const { url, issuer } = await serveTls('DNS:localhost', 'leaf')
  trust(issuer)
  expect(await check(url, now() - 30 * DAY)).toMatchObject({
    verdict: 'ok',
    found: expect.stringMatching(/valid for 3\d more days/),
  })
})

test('A certificate that expires within two weeks is a warning', async () => {
  const { url, issuer } = await serveTls('DNS:localhost', 'leaf')
  trust(issuer)
  expect(await check(url)).toMatchObject({ verdict: 'warning', found: expect.stringMatching(/expires in [12] days/) })
})

test('A certificate that expired is wrong', async () => {
  const { url } = await serveTls('DNS:localhost')
  expect(await check(url, now() + 10 * DAY)).toMatchObject({
    verdict: 'wrong',
    found: expect.stringMatching(/expired \d days ago/),
  })
})

test('A certificate for another host name is wrong', async () => {
  const { url, issuer } = await serveTls('DNS:other.example', 'leaf')
  trust(issuer)
  expect(await check(url)).toMatchObject({ verdict: 'wrong', remedy: 'Use a certificate for this host name.' })
})

test('A certificate without the chain to a trusted issuer is wrong', async () => {
  const { url } = await serveTls('DNS:localhost', 'leaf')
  expect(await check(url)).toMatchObject({ verdict: 'wrong', remedy: expect.stringContaining('send the whole chain') })
})

test('A self-signed certificate is wrong', async () => {
  const { url } = await serveTls('DNS:localhost')
  expect(await check(url)).toMatchObject({ verdict: 'wrong', remedy: expect.stringContaining('NODE_EXTRA_CA_CERTS') })
})

test('A port that does not speak TLS could not be checked', async () => {
  expect(await check('https://localhost:9')).toMatchObject({ verdict: 'unchecked' })
})

test('A server that accepts TLS 1.1 is a warning, and one that accepts TLS 1.2 and 1.3 only is not (RFC 8996)', async () => {
  const old = await serveTls('DNS:localhost', 'self-signed', { minVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })
  const accepted = { verdict: 'warning', found: expect.stringContaining('accepts TLS 1.1 or older') }
  expect(await checkAll(old.url, now())).toContainEqual(expect.objectContaining(accepted))
  const { url } = await serveTls('DNS:localhost')
  expect(await checkAll(url, now())).not.toContainEqual(expect.objectContaining(accepted))
})

test('The certificate of the admin API is checked too', async () => {
  const { url } = await serveTls('DNS:localhost')
  expect(await checkAll('http://localhost:2', now(), url)).toMatchObject([{ verdict: 'wrong' }])
})
