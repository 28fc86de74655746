/** A server as the operations use it: its port, its paths, and the supply of codes and tokens. */
import type { Engine } from './servers/engine.ts'
import type { Running } from './servers/process.ts'
import type { SignedIn } from './servers/sign-in.ts'

export type Client = { id: string; secret: string; redirectUri: string }

/** Makes the codes and tokens that requests use, outside of the measured time. Each has a grant of its own, unless a method says otherwise. */
export type Supply = {
  codes(count: number): Promise<string[]>
  refreshTokens(count: number): Promise<string[]>
  /** different tokens, some of the same grant */
  accessTokens(count: number): Promise<string[]>
  /** as `accessTokens`, of another process of the same service */
  accessTokensOfAnotherNode?(count: number): Promise<string[]>
  /** removes what earlier operations left in the memory of the server */
  forget(): Promise<void>
  /** Cookie headers of browsers that are signed in */
  sessions(count: number): Promise<string[]>
}

export type Target = {
  name: string
  port: number
  /** milliseconds from the start of the process until it was ready; one figure for each start */
  readyAfter: number[]
  running: Running
  authorization: string
  paths: { token: string; introspect: string; revoke: string; authorize: string }
  client: Client
  /** the port for introspection, if it is another one */
  introspectionPort?: number
  /** whether its access tokens are opaque; otherwise they are JWTs */
  opaqueTokens?: boolean
  /** the demo's registered native client, and the resource that it and unregistered clients may request; of `grantor start` only */
  demo?: { clientId: string; resource: string }
  databaseUrl?: string
  /** the process of the PostgreSQL server, if it has one of the bench's own */
  databasePid?: number | undefined
  /** the status of a redirect from authorize: 302 or 303 */
  redirect: number
  /** null for a server without tokens */
  supply: Supply | null
  /** does the least that each operation needs, at a path named after the operation */
  isFloor?: boolean
  /** of servers that are started with `observed` */
  engine?: Engine | undefined
  /** the longest time in milliseconds for which the event loop was blocked since the last call; NaN if it is not measured */
  longestBlock(): Promise<number>
  /** starts another process of the same service on the same database; it listens on a port of its own and runs on these cores */
  startSecond?(cores: string | null): Promise<Target>
  /** the origin of its admin API, if it has one */
  adminUrl?: string | undefined
  /** signs in a new person at the path of an authorization request */
  signIn?(authorize: string): Promise<SignedIn>
  /** runs a command of the same service, and returns what it printed; `isIdle`: see `runNode` */
  run?(words: string[], how?: { isIdle: boolean }): Promise<string>
  stop(): Promise<void>
}
