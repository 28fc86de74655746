/** A server as the operations see it: where things are, and where to get what they consume. */
import type { Running } from './servers/process.ts'

export type Client = { id: string; secret: string; redirectUri: string }

/** Makes what requests will consume, each on a grant of its own unless told otherwise. Not measured. */
export type Supply = {
  codes(count: number): Promise<string[]>
  refreshTokens(count: number): Promise<string[]>
  /** different tokens; their grants may be the same */
  accessTokens(count: number): Promise<string[]>
  /** drops what earlier operations left behind, where it is kept in the server's own memory */
  forget(): Promise<void>
  /** Cookie headers of browsers that are signed in */
  sessions(count: number): Promise<string[]>
}

export type Target = {
  name: string
  port: number
  /** milliseconds from the start of the process until it said that it is ready; one figure a start */
  readyAfter: number[]
  running: Running
  authorization: string
  paths: { token: string; introspect: string; revoke: string; authorize: string }
  client: Client
  /** the demo's registered native client, and the resource that it and unregistered clients may request; of `grantor start` only */
  demo?: { clientId: string; resource: string }
  databaseUrl?: string
  /** what its redirect from authorize is: 302 or 303 */
  redirect: number
  /** null for a server that only answers */
  supply: Supply | null
  /** does the least that each operation needs, at a path named after the operation */
  isFloor?: boolean
  /** the longest time in milliseconds for which the event loop was blocked since the last call; NaN if it is not measured */
  longestBlock(): Promise<number>
  /** starts another process of the same service on the same database; it listens on a port of its own and runs on these cores */
  startSecond?(cores: string | null): Promise<Target>
  /** makes the next signing key */
  rotateKey?(): Promise<void>
  stop(): Promise<void>
}
