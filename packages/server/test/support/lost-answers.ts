/** A connection to PostgreSQL on which one response is lost: the statement is committed, and then its connection breaks. */
import { pack } from '../../src/store/packed.ts'
import type { PostgresAddress } from '../../src/store/postgres/index.ts'
import type { PostgresDatabase } from './postgres.ts'
import { proxied } from './proxied.ts'

export type LosingWay = {
  address: PostgresAddress
  /**
   * Loses the response to the next statement with this text among its values, when the query `committed` returns a row. `between` runs after the
   * commit and before the connection breaks.
   */
  loseNext(text: string, committed: string, between?: () => Promise<unknown>): void
  /** the number of responses lost so far */
  lost(): number
}

/** A value is sent as a text, or packed, as bytes or as hexadecimal digits. */
const formsOf = (text: string) => [text, pack(text), pack(text).toString('hex')]

export async function losingAnswers({ address, sql }: PostgresDatabase): Promise<LosingWay> {
  let next: { text: string; committed: string; between: (() => Promise<unknown>) | undefined } | null = null
  let lost = 0
  const silent = new Set<number>()
  const way = await proxied(address, {
    toServer(bytes, { client, server, number }) {
      server.write(bytes)
      if (next === null || !formsOf(next.text).some((form) => bytes.includes(form))) return
      const { committed, between } = next
      next = null
      silent.add(number)
      const cut = async () => {
        while ((await sql.unsafe(committed)).length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
        await between?.()
        lost++
        client.destroy()
      }
      void cut()
    },
    toClient(bytes, { client, number }) {
      if (!silent.has(number)) client.write(bytes)
    },
  })
  return {
    address: way,
    loseNext: (text, committed, between) => void (next = { text, committed, between }),
    lost: () => lost,
  }
}
