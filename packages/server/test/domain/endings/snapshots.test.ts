/** The memory for what readers have not received yet, and the snapshots in it. */
import { describe, expect, test } from 'vitest'
import { HeldBytes } from '../../../src/domain/endings/held-bytes.ts'
import { type Snapshot, Snapshots } from '../../../src/domain/endings/snapshots.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'

const MIB = 1024 * 1024

function start() {
  let now = 0
  const held = new HeldBytes(() => now)
  const snapshots = new Snapshots<Snapshot>(held)
  const stopped: string[] = []
  /** Makes a snapshot of so many bytes, and begins a response from it. */
  async function send(name: string, bytes = 10): Promise<() => void> {
    const snapshot = await snapshots.get(name, async (made) => {
      made.add('a'.repeat(bytes))
      return made
    })
    return snapshot.use(() => void stopped.push(name))
  }
  return { held, snapshots, stopped, send, pass: (seconds: number) => void (now += seconds) }
}

describe('What a process holds for readers', () => {
  test('If more than 64 MiB are held, the oldest parts are dropped, and no part twice', () => {
    const { held } = start()
    const dropped: number[] = []
    const holds = Array.from({ length: 200 }, (_, index) => held.hold(MIB, () => void dropped.push(index)))
    expect([held.bytes, dropped]).toEqual([64 * MIB, Array.from({ length: 136 }, (_, index) => index)])
    for (const hold of [...holds, ...holds]) held.release(hold)
    expect([held.bytes, dropped.length]).toEqual([0, 136])
  })

  test('A part that alone has more than 64 MiB is dropped', () => {
    const { held } = start()
    let isDropped = false
    held.hold(65 * MIB, () => (isDropped = true))
    expect([held.bytes, isDropped]).toEqual([0, true])
  })

  test('A part is dropped when it is held for more than a minute, and also if the clock was set back', () => {
    const { held, pass } = start()
    const dropped: string[] = []
    held.hold(1, () => void dropped.push('first'))
    pass(60)
    held.dropOld()
    expect(dropped).toEqual([])
    held.hold(1, () => void dropped.push('second'))
    pass(1)
    held.dropOld()
    expect(dropped).toEqual(['first'])
    pass(-3600)
    held.dropOld()
    expect([dropped, held.bytes]).toEqual([['first', 'second'], 0])
  })
})

describe('The snapshots of a process', () => {
  test('Responses that are sent refer to at most eight different snapshots: a ninth ends the responses from the oldest', async () => {
    const { snapshots, stopped, send, pass } = start()
    for (let count = 0; count < 12; count++) {
      await send(`resource ${count % 2}`)
      pass(6)
      snapshots.dropUnused()
    }
    expect(stopped).toEqual(['resource 0', 'resource 1', 'resource 0', 'resource 1'])
  })

  test('Readers share a snapshot for five seconds, and it stays in memory for as long as a response is sent from it', async () => {
    const { held, snapshots, send, pass } = start()
    const [end, endOther] = [await send('a', 100), await send('a', 100)]
    expect(held.bytes).toBe(100)
    pass(5)
    const endNew = await send('a', 10)
    snapshots.dropUnused()
    expect(held.bytes).toBe(110)
    for (const each of [end, endOther, endNew]) each()
    snapshots.dropUnused()
    expect(held.bytes).toBe(10)
    pass(5)
    snapshots.dropUnused()
    expect(held.bytes).toBe(0)
  })

  test('Snapshots are made one after the other, and those who ask meanwhile share what is being made', async () => {
    const { snapshots } = start()
    const log: string[] = []
    const make = (name: string) =>
      snapshots.get(name, async (snapshot) => {
        log.push(`${name} begins`)
        await new Promise((resolve) => setTimeout(resolve, 5))
        log.push(`${name} ends`)
        return snapshot
      })
    const [a, b, again] = await Promise.all([make('a'), make('b'), make('b')])
    expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
    expect([a === b, b === again]).toEqual([false, true])
  })

  test('A snapshot that is dropped while it is made fails, and the next reader gets a new one', async () => {
    const { held, snapshots, send } = start()
    const failed = snapshots.get('a', async (snapshot) => {
      snapshot.add('a')
      held.hold(64 * MIB, () => {})
      snapshot.add('b')
      return snapshot
    })
    await expect(failed).rejects.toThrow(StoreUnavailable)
    const end = await send('a')
    end()
  })

  test('A response that begins after its snapshot was dropped is ended at once', async () => {
    const { held, snapshots } = start()
    const snapshot = await snapshots.get('a', async (made) => made)
    held.hold(64 * MIB, () => {})
    held.hold(1, () => {})
    let isEnded = false
    snapshot.use(() => (isEnded = true))
    expect(isEnded).toBe(true)
  })
})
