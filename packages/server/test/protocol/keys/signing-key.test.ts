import { createPrivateKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { newSigningMaterial } from '../../../src/protocol/keys/signing-key.ts'

test.each(['ES256', 'EdDSA', 'RS256'] as const)('The event loop continues while a key for %s is generated', async (algorithm) => {
  let turns = 0
  const making = newSigningMaterial(algorithm)
  setImmediate(() => turns++)
  const material = await making
  expect(turns, 'iterations of the event loop meanwhile').toBe(1)
  expect(createPrivateKey({ key: Buffer.from(material), format: 'der', type: 'pkcs8' }).type).toBe('private')
})
