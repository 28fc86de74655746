/**
 * A program's part in the journal (`GRANTOR_JOURNAL_FILE`): its number, its first line and its last. The number is taken
 * with or without a file, because a change that no journal tells of must be noticed.
 */
import { randomBytes } from 'node:crypto'
import { type JournalEvent, journalled, ledgerName, walletName } from '../grants/journal.ts'
import { type Store, StoreUnavailable } from '../grants/ports.ts'
import { openJournalFile } from '../ops/journal-file.ts'
import { Failure } from './command.ts'

type Keeping = {
  store: Store
  /** the setting; undefined for a program that keeps none */
  path: string | undefined
  program: string
  /** epoch seconds */
  now: () => number
  /** a line could not be written: from here on the journal cannot account for what happens */
  failed: (error: unknown) => void
}

export type Keeper = {
  /** the store, with every change noted */
  store: Store
  /** takes the number; done by the first change at the latest */
  begin(): Promise<void>
  /** notes that the program still runs; to be called once a minute */
  keep(): Promise<void>
  /** Waits for the changes under way, makes no more, and writes the last line; before the store is closed. */
  end(): Promise<void>
}

export function keepJournal({ store, path, program, now, failed }: Keeping): Keeper {
  const file = path === undefined ? null : openFile(path, failed)
  let run: { number: number; salt: string } | null = null
  let begun: Promise<void> | null = null
  // Where two databases came of one backup, two programs have one number, and are not to be taken for one.
  const id = randomBytes(4).toString('hex')
  let serial = 0
  let last = 0
  let over = false
  const underWay = new Set<Promise<unknown>>()

  function note(event: JournalEvent): void {
    if (!file || !run) return
    file.append(JSON.stringify({ journal: run.number, id, n: ++serial, at: now(), ...event }))
  }

  async function take(): Promise<void> {
    try {
      run = await store.runs.beginRun(now())
    } catch (error) {
      // Asked again by the next change: none is made without a number.
      begun = null
      throw error
    }
    last = run.number
    note({ event: 'opened', program, ledger: ledgerName(run.salt) })
  }

  const begin = (): Promise<void> => {
    begun ??= take()
    return begun
  }
  /** A request whose caller left goes on after its server was closed: what it changes must not come after the last line. */
  async function during<Outcome>(change: () => Promise<Outcome>): Promise<Outcome> {
    if (over) throw new StoreUnavailable('the journal is closed')
    const changed = begin().then(change)
    underWay.add(changed)
    try {
      return await changed
    } finally {
      underWay.delete(changed)
    }
  }
  async function keep(): Promise<void> {
    if (!run) return
    const known = last
    last = await store.runs.noteRun(run.number, now())
    // So that a journal from which the youngest program is missing does not look complete.
    if (last > known) note({ event: 'others', last })
  }

  return {
    // Without a file there is nothing to note; the number is taken all the same.
    store: journalled(store, { during, note, walletName: (wallet) => walletName(run?.salt ?? '', wallet) }),
    begin,
    keep,
    async end() {
      over = true
      await Promise.allSettled(underWay)
      if (!run) {
        file?.close()
        return
      }
      const reached = await keep().then(
        () => true,
        () => false,
      )
      note({ event: 'closed' })
      file?.close()
      // Where the store is gone the number stays, and the journal tells that this program was over.
      if (reached) await store.runs.endRun(run.number).catch(() => undefined)
    },
  }
}

function openFile(path: string, failed: (error: unknown) => void) {
  try {
    return openJournalFile(path, failed)
  } catch (error) {
    throw new Failure(`cannot write GRANTOR_JOURNAL_FILE ${path}: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`)
  }
}
