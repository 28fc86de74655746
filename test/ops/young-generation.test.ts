import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test('under load the young generation grows to 32 MB and no further, also after a quiet night has made it small', () => {
  const program = fileURLToPath(new URL('young-generation-process.ts', import.meta.url))
  const { stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' })
  expect(stderr).toBe('')
  const sizes = JSON.parse(stdout) as { worked: number; later: number; night: number; again: number }
  expect(sizes).toMatchObject({ worked: 32, later: 32, again: 32 })
  expect(sizes.night).toBeLessThan(8)
})
