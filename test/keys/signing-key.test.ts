import { createPrivateKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { newSigningMaterial } from '../../src/keys/signing-key.ts'

test.each(['ES256', 'EdDSA', 'RS256'] as const)('other requests are served while a key for %s is made', async (algorithm) => {
  let turns = 0
  const making = newSigningMaterial(algorithm)
  setImmediate(() => turns++)
  const material = await making
  expect(turns, 'turns of the event loop meanwhile').toBe(1)
  expect(createPrivateKey({ key: Buffer.from(material), format: 'der', type: 'pkcs8' }).type).toBe('private')
})
