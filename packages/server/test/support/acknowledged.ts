/** Clients that refresh, revoke and redeem until they are stopped or refused, and a list of every change that was acknowledged. */
import { expect } from 'vitest'
import { type App, claimsOf, type Tokens, tokensOf } from './app.ts'
import type { Grantor } from './start.ts'
import { Walk } from './walk.ts'

/** A grant that is refreshed without a pause. */
type Chain = { tokens: Tokens; rotations: number }

export type Load = {
  /** resolves when this many more changes were acknowledged; rejects if every client was refused before */
  more(changes: number): Promise<void>
  /** stops the clients, and resolves when no request is in progress */
  stop(): Promise<void>
  /** checks that a service on the recovered database has every acknowledged change */
  check(grantor: Grantor): Promise<void>
}

const CHAINS = 6
/** The number of living grants at a time, because a wallet may have only a limited number at one client. */
const LIVING_AT_MOST = 20

/**
 * Starts the clients. A client stops at the first response that acknowledges nothing. The service needs a long retry window:
 * the last refresh of a client may be committed without a response, and its retry comes after the recovery.
 */
export async function startLoad(app: App): Promise<Load> {
  const { client, walk } = app
  const chains: Chain[] = []
  const revoked: Tokens[] = []
  const living: Tokens[] = []
  const state = { stopped: false, acknowledged: 0 }
  let wake = (): void => undefined

  function acknowledge(): void {
    state.acknowledged++
    wake()
  }

  async function refreshing(): Promise<void> {
    const chain: Chain = { tokens: await app.freshTokens(), rotations: 0 }
    chains.push(chain)
    while (!state.stopped) {
      const answer = await walk.refresh(client, chain.tokens.refresh_token)
      if (answer.status !== 200) return
      chain.tokens = tokensOf(answer)
      chain.rotations++
      acknowledge()
    }
  }
  async function granting(): Promise<void> {
    while (!state.stopped) {
      const authorized = await walk.authorize({ client_id: client.id, redirect_uri: client.redirectUris[0] ?? '' })
      const code = /[?&]code=([^&]+)/.exec(authorized.location)?.[1]
      const answer = code === undefined ? authorized : await walk.exchange(client, code)
      if (answer.status !== 200) return
      const tokens = tokensOf(answer)
      acknowledge()
      if (living.length <= revoked.length && living.length < LIVING_AT_MOST) living.push(tokens)
      else if ((await walk.revoke(client, tokens.refresh_token)).status === 200) revoked.push(tokens)
      else return
    }
  }
  const clients = [...Array.from({ length: CHAINS }, refreshing), granting(), granting()]

  return {
    more(changes) {
      const enough = state.acknowledged + changes
      const reached = new Promise<void>((resolve) => {
        wake = () => {
          if (state.acknowledged >= enough) resolve()
        }
      })
      const ended = Promise.all(clients).then(() => Promise.reject(new Error('the service refused every client')))
      return Promise.race([reached, ended])
    },
    async stop() {
      state.stopped = true
      await Promise.all(clients)
    },
    async check(grantor) {
      const after = new Walk(grantor)
      expect(Math.min(chains.length, revoked.length, living.length), 'of each kind of change there is one').toBeGreaterThan(0)
      for (const { tokens, rotations } of chains) {
        const grant = await grantor.store.grants.readGrant(claimsOf(tokens.access_token).grant_id)
        // One more if the last refresh was committed and its response was lost.
        expect([rotations, rotations + 1]).toContain(grant?.generation)
        expect((await after.refresh(client, tokens.refresh_token)).status, 'the last refresh token works').toBe(200)
      }
      for (const { refresh_token: token } of living) expect((await after.refresh(client, token)).status).toBe(200)
      for (const { access_token: access, refresh_token: token } of revoked) {
        expect((await after.introspect(client, access)).json(), 'what was revoked stays revoked').toEqual({ active: false })
        expect((await after.refresh(client, token)).json().error).toBe('invalid_grant')
      }
    },
  }
}
