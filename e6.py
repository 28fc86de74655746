f='/tmp/w/editor/src/domain/audit/trail.ts'
s=open(f).read()
i=s.index('/** `settle` is null for a line')
head=s[:i]
head=head.replace(''' * The audit trail of one process. Lines are appended in batches, because the chain has one order: one batch is under way and the other lines
 * wait. A line that cannot be appended waits in memory until the store works again; the log has it already.''',''' * The audit trail of one process. The chain has one order, so one batch of lines is appended at a time, and the other lines wait. A line that
 * cannot be appended waits in memory until the store works again. The log has the event already.''')
head=head.replace('''  /** Takes no more lines, and tries to append those that wait. */''','''  /** Accepts no more lines, and tries to append those that wait. */''')
head=head.replace('''/** Lines that wait in memory. Later ones are lost to the trail, and are in the log only. */''','''/** Lines that wait in memory. Later lines are in the log only. */''')
new='''export function createAuditTrail(options: TrailOptions): AuditTrail {
  const queue = new LineQueue(options)
  return {
    record: (entry) => queue.record(entry),
    recordSoon: (entry) => queue.recordSoon(entry),
    stop: () => queue.stop(),
  }
}

type Outcome = 'written' | 'lost'
/** `settle` is null for a line that no response waits for. */
type Waiting = { entry: AuditEntry; settle: ((outcome: Outcome) => void) | null }

class LineQueue {
  readonly #writer: ChainWriter
  readonly #note: TrailOptions['note']
  readonly #pause: TrailOptions['pause']
  readonly #waitingAtMost: number
  readonly #waiting: Waiting[] = []
  readonly #stopping = Promise.withResolvers<void>()
  /** how many of the waiting lines a response waits for */
  #awaited = 0
  /** the pause in which lines are gathered is under way */
  #isGathering = false
  /** the pause is over, so the gathered lines are appended */
  #isDue = false
  #running: Promise<void> | null = null
  #isStopping = false
  #isBehind = false
  #isFull = false
  #isGivenUp = false

  constructor({ store, note, pause, waitingAtMost = WAITING_AT_MOST }: TrailOptions) {
    this.#writer = new ChainWriter(store)
    this.#note = note
    this.#pause = pause
    this.#waitingAtMost = waitingAtMost
  }

  record(entry: AuditEntry): Promise<Outcome> {
    return new Promise((settle) => {
      if (this.#add(entry, settle)) this.#start()
      else settle('lost')
    })
  }

  recordSoon(entry: AuditEntry): void {
    if (this.#add(entry, null)) this.#gather()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    this.#stopping.resolve()
    this.#start()
    await Promise.race([this.#running, this.#pause(STOP_WITHIN)])
    this.#isGivenUp = true
    if (this.#waiting.length > 0) this.#note({ kind: 'stopped', lines: this.#waiting.length })
    for (const { settle } of this.#waiting.splice(0)) settle?.('lost')
    this.#awaited = 0
  }

  /** False if the queue is full. */
  #add(entry: AuditEntry, settle: Waiting['settle']): boolean {
    if (this.#isStopping || this.#waiting.length >= this.#waitingAtMost) {
      // One alarm for each time that the queue is full: every line is in the log.
      if (!this.#isFull) this.#note({ kind: 'lost', lines: 1 })
      this.#isFull = true
      return false
    }
    this.#waiting.push({ entry, settle })
    if (settle) this.#awaited++
    return true
  }

  /** Appends the waiting lines after a pause, or at once if there are many. */
  #gather(): void {
    if (this.#awaited > 0 || this.#waiting.length >= BATCH) return this.#start()
    if (this.#isGathering) return
    this.#isGathering = true
    void this.#pause(GATHERED_FOR).then(() => {
      this.#isGathering = false
      this.#isDue = true
      this.#start()
    })
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = null
      // A line may have been added after the last check of the queue.
      if (this.#waiting.length > 0 && !this.#isStopping) this.#gather()
    })
  }

  async #run(): Promise<void> {
    while (this.#mustAppend()) {
      this.#isDue = false
      const size = Math.min(this.#waiting.length, BATCH)
      if (!(await this.#appendWithRetries(size))) return
      if (this.#isBehind) this.#note({ kind: 'caught_up', lines: size })
      this.#isBehind = false
      this.#isFull = false
    }
  }

  /** Whether the oldest lines are appended now. Otherwise they wait for more. */
  #mustAppend(): boolean {
    if (this.#waiting.length === 0) return false
    return this.#awaited > 0 || this.#waiting.length >= BATCH || this.#isDue || this.#isStopping
  }

  /** False if `stop` has given up. */
  async #appendWithRetries(size: number): Promise<boolean> {
    for (let wait = PAUSE.first; ; wait = Math.min(wait * 2, PAUSE.most)) {
      try {
        await this.#append(size)
        return true
      } catch {
        if (!this.#isBehind) this.#note({ kind: 'behind', lines: this.#waiting.length })
        this.#isBehind = true
        if (this.#isGivenUp) return false
        await (this.#isStopping ? this.#pause(PAUSE.first) : Promise.race([this.#pause(wait), this.#stopping.promise]))
      }
    }
  }

  /** Appends the oldest lines. They stay in the queue until they are committed, so a repeated attempt has the same lines. */
  async #append(size: number): Promise<void> {
    await this.#writer.append(this.#waiting.slice(0, size).map(({ entry }) => entry))
    for (const { settle } of this.#waiting.splice(0, size)) {
      if (settle) this.#awaited--
      settle?.('written')
    }
  }
}
'''
open(f,'w').write(head+new)
