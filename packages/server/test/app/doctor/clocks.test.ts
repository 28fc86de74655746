import { expect, test } from 'vitest'
import type { Site } from '../../../src/app/doctor/check.ts'
import { checkServiceClocks } from '../../../src/app/doctor/clocks.ts'

/** Both services answer `now` to a request that was sent at 1000 and took ten seconds. */
async function verdictsAt(now: number): Promise<string[]> {
  const probed = { answer: { now }, sentAt: 1000, takenMs: 10_000 }
  const found = await checkServiceClocks({ probe: async () => probed } as unknown as Site)
  return found.map(({ verdict }) => verdict)
}

test('The doctor takes no part of the time of a slow answer for a difference of the clocks', async () => {
  expect(await verdictsAt(1000)).toEqual(['ok', 'ok'])
  expect(await verdictsAt(1010)).toEqual(['ok', 'ok'])
  expect(await verdictsAt(1015)).toEqual(['warning', 'warning'])
  expect(await verdictsAt(960)).toEqual(['wrong', 'wrong'])
})
