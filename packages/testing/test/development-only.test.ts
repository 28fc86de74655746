/** Where a test issuer refuses to run. */
import { describe, expect, test } from 'vitest'
import { requireDevelopment } from '../src/development-only.ts'

const place = { host: '127.0.0.1', name: 'localhost', env: {}, ownAddresses: ['127.0.0.1', '172.17.0.2'] }

describe('The place of a test issuer', () => {
  test.each([
    {},
    { host: '::1' },
    { host: '127.0.0.2', name: '127.0.0.2' },
    { host: '0.0.0.0', name: 'grantor.test' },
    { host: '::', name: 'grantor.test', ownAddresses: ['::1', 'fe80::1', 'fd00::5'] },
    { name: 'app.localhost' },
    { env: { NODE_ENV: 'test' } },
  ])('The test issuer runs with %j', (change) => {
    expect(() => requireDevelopment({ ...place, ...change })).not.toThrow()
  })

  test.each([
    [{ env: { NODE_ENV: 'production' } }, 'NODE_ENV is production'],
    [{ host: '93.184.216.34' }, '93.184.216.34 is a public address'],
    [{ host: '2606:2800:220:1::1' }, 'is a public address'],
    [{ host: '0.0.0.0', ownAddresses: ['127.0.0.1', '93.184.216.34'] }, '93.184.216.34 is a public address'],
    [{ host: '::', ownAddresses: ['::1', '2606:2800:220:1::1'] }, 'is a public address'],
    [{ host: '10.1.2.3' }, 'it listens on a loopback address, or in a container on 0.0.0.0'],
    [{ host: 'localhost' }, 'it listens on a loopback address'],
    [{ host: '127.example.com' }, 'it listens on a loopback address'],
    [{ name: 'auth.example.com' }, 'its host name must be localhost'],
    [{ name: '93.184.216.34' }, 'its host name must be localhost'],
    [{ name: 'localhost:80/x' }, 'its host name must be localhost'],
  ])('The test issuer refuses to run with %j', (change, reason) => {
    expect(() => requireDevelopment({ ...place, ...change })).toThrow(reason)
  })
})
