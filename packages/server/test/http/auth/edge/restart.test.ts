import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { retireKey } from '../../../../src/domain/maintenance/keep-keys.ts'
import { type App, appOf, startApp, type Tokens, tokensOf } from '../../../support/app.ts'
import { keepingOf } from '../../../support/key-keeping.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { hangUp } from '../../../support/send.ts'
import { startGrantor } from '../../../support/start.ts'

let folder: string
let app: App

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'grantor-restart-'))
  app = await startApp({ databasePath: join(folder, 'grantor.sqlite') })
})
afterEach(async () => {
  await app.close()
  await rm(folder, { recursive: true })
})

/** Starts a new service on a database. Only the stored data and the cookies of the browser remain of the earlier one. */
async function restartOn(databasePath: string): Promise<void> {
  hangUp()
  const { clock, ports } = app.grantor
  const grantor = await startGrantor({ databasePath, clock, ports })
  app = appOf(grantor, app.client, app.walk.copy(grantor))
}

const restarts: [string, () => Promise<void>][] = [
  [
    'a restart',
    async () => {
      const { databasePath } = app.grantor
      await app.close()
      await restartOn(databasePath)
    },
  ],
  [
    // A copy of the files at this moment, with the write-ahead log: the state after a power failure.
    'a crash',
    async () => {
      const { databasePath } = app.grantor
      for (const suffix of ['', '-wal']) await copyFile(databasePath + suffix, `${databasePath}.crashed${suffix}`)
      await app.close()
      await restartOn(`${databasePath}.crashed`)
    },
  ],
]

describe.each(restarts)('After %s on the same database', (_what, restart) => {
  test('Sessions, grants, refresh tokens, codes, logins and client secrets stay valid across a restart', async () => {
    const tokens = await app.freshTokens()
    const code = await app.freshCode()
    const challenge = await app.walk.challenge({
      client_id: app.client.id,
      redirect_uri: app.client.redirectUris[0] ?? '',
      prompt: 'login',
    })
    await restart()
    expect(await app.isActive(tokens.access_token)).toBe(true)
    expect((await app.walk.refresh(app.client, tokens.refresh_token)).status).toBe(200)
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
    await app.freshCode() // needs the session
    expect((await app.walk.complete(await app.walk.prove(challenge))).status).toBe(200)
  })

  test('A refresh that is repeated after a restart gets the same refresh token', async () => {
    const first = await app.freshTokens()
    const second = tokensOf(await app.walk.refresh(app.client, first.refresh_token))
    await restart()
    expect(tokensOf(await app.walk.refresh(app.client, first.refresh_token)).refresh_token).toBe(second.refresh_token)
    expect((await app.walk.refresh(app.client, second.refresh_token)).status).toBe(200)
  })

  test('Revoked grants, revoked access tokens, replayed grants and redeemed codes stay invalid across a restart', async () => {
    const revoked = await app.freshTokens()
    await app.walk.revoke(app.client, revoked.refresh_token)
    const alone = await app.freshTokens()
    await app.walk.revoke(app.client, alone.access_token)
    const spent = await app.freshCode()
    const replayed: Tokens = tokensOf(await app.walk.exchange(app.client, spent))
    await app.walk.exchange(app.client, spent)
    const used = await app.freshTokens()
    const later = tokensOf(
      await app.walk.refresh(app.client, tokensOf(await app.walk.refresh(app.client, used.refresh_token)).refresh_token),
    )
    const once = await app.freshCode()
    const onceTokens = tokensOf(await app.walk.exchange(app.client, once))
    await restart()

    for (const { access_token } of [revoked, alone, replayed]) expect(await app.isActive(access_token)).toBe(false)
    for (const { refresh_token } of [revoked, replayed])
      expectRefusal(await app.walk.refresh(app.client, refresh_token), 'invalid_grant')
    expect((await app.walk.refresh(app.client, alone.refresh_token)).status).toBe(200)

    expect(await app.isActive(later.access_token)).toBe(true)
    expectRefusal(await app.walk.refresh(app.client, used.refresh_token), 'invalid_grant')
    expect(await app.isActive(later.access_token)).toBe(false)

    expectRefusal(await app.walk.exchange(app.client, once), 'invalid_grant')
    expect(await app.isActive(onceTokens.access_token)).toBe(false)
  })

  test('A retired key stays retired across a restart', async () => {
    const tokens = await app.freshTokens()
    await retireKey(keepingOf(app.grantor), app.grantor.deps.keys.maker('sign').id, { atOnce: true })
    await restart()
    expect(await app.isActive(tokens.access_token)).toBe(false)
    expect((await app.walk.refresh(app.client, tokens.refresh_token)).status).toBe(200)
  })
})
