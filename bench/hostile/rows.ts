/** Scenes of long work in the database, on PostgreSQL. */
import { generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { atExit } from '../at-exit.ts'
import { fillTrail } from '../audit.ts'
import { type BuiltStore, importBuilt, openBuiltStore } from '../built.ts'
import { fillPostgres, packedWallet } from '../servers/fill.ts'
import { registerClient } from '../servers/register.ts'
import type { Target } from '../target.ts'
import type { Beside, Scene } from './scene.ts'

const GRANTS = 300_000
const CLEANED_EACH_SECOND = 10_000
const LINES = 300_000
const CLIENTS = 10_000

export const rowScenes: Scene[] = [
  { name: 'a wallet ends 300,000 grants', server: 'production', prepare: endWallet },
  { name: '10,000 rows a second are deleted', server: 'production', prepare: expireRows },
  { name: 'an operator searches 300,000 audit lines', server: 'production', prepare: searchTrail },
  { name: 'an operator applies a file of 10,000 clients', server: 'production', prepare: applyFile },
]

type Endings = {
  endingsOf(store: BuiltStore): { add(ending: object, at: number): Promise<unknown> }
}

/** The rest of the wallet's grants, which the service would end for minutes, is deleted after the round. */
async function endWallet({ databaseUrl = '' }: Target): Promise<Beside> {
  const { endingsOf } = (await importBuilt('domain/operators/jobs.js')) as Endings
  const store = await openBuiltStore(databaseUrl)
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined })
  let wallet = ''
  return {
    async ready() {
      wallet = `0x${randomBytes(20).toString('hex')}`
      await fillPostgres(databaseUrl, GRANTS, { wallet })
    },
    async during(seconds) {
      const ending = { wallet, clientId: '', epoch: 1_000_000, reason: 'user', startedBy: wallet, grantsEnded: 0 }
      await endingsOf(store).add(ending, Math.floor(Date.now() / 1000))
      await pause(seconds * 1000)
    },
    async settle() {
      const packed = packedWallet(wallet)
      const [row] = await sql`SELECT count(*)::int AS ended FROM grants WHERE wallet = ${packed} AND ended_at IS NOT NULL`
      if (!row?.ended) throw new Error('the wallet ended no grant')
      await sql`DELETE FROM grants WHERE wallet = ${packed}`
      await sql`VACUUM grants`
      await pause(2000)
    },
    async stop() {
      await sql.end()
      await store.close()
    },
  }
}

/** Rows of the table of used proofs, as many as expired in each second an hour ago. */
async function expireRows({ databaseUrl = '' }: Target): Promise<Beside> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined })
  const left = async () => Number((await sql`SELECT count(*) AS left FROM spent WHERE kind = 'bench'`)[0]?.left)
  let inserted = 0
  return {
    async ready(seconds) {
      // The time of each row is a second of its own hour ago, and the sweep finds the rows of the seconds that have passed.
      const rows = CLEANED_EACH_SECOND * (seconds + 1)
      const from = Math.floor(Date.now() / 1000) - 3600
      await sql`INSERT INTO spent (hash, kind, expires_at, attempt_id)
        SELECT gen_random_uuid()::text, 'bench', ${from}::bigint + n / ${CLEANED_EACH_SECOND}::int, ''
        FROM generate_series(1, ${rows}::int) AS n`
      inserted += rows
    },
    during: (seconds) => pause(seconds * 1000),
    async settle() {
      for (let waits = 0; (await left()) > 0; waits++) {
        if (waits === 300) throw new Error(`${await left()} of ${inserted} expired rows are left`)
        await pause(100)
      }
    },
    stop: () => sql.end(),
  }
}

/** One search after the other, of what few lines match. */
async function searchTrail(target: Target): Promise<Beside> {
  const { adminUrl = '', databaseUrl = '' } = target
  const at = Math.floor(Date.now() / 1000) - LINES / 10
  await fillTrail(databaseUrl, LINES, { seq: 1_000_000_000, at })
  const authorization = `Bearer ${await auditorToken(target)}`
  const answered: Record<string, number> = {}
  let count = 0
  return {
    answered,
    async during(seconds) {
      for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
        const client = `00000000-0000-4000-8000-${(count++ % 1000).toString(16).padStart(12, '0')}`
        const query = `client_id=${client}&reason=refresh_replayed&result=refused&limit=100`
        const { status } = await fetchText(`${adminUrl}/v1/audit?${query}`, { headers: { authorization } })
        answered[status] = (answered[status] ?? 0) + 1
      }
    },
  }
}

async function fetchText(url: string, init: RequestInit): Promise<{ status: number; text: string }> {
  const response = await fetch(url, init)
  return { status: response.status, text: await response.text() }
}

/** The token of a program that may read the trail. */
async function auditorToken(target: Target): Promise<string> {
  const { port, paths, adminUrl = '', run } = target
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwks = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1', use: 'sig', alg: 'ES256' }] })
  const method = ['--grant-type', 'client_credentials', '--token-endpoint-auth-method', 'private_key_jwt', '--jwks', jwks]
  const { id } = await registerClient(
    target,
    '--name',
    'Auditor',
    ...method,
    '--resource',
    `${adminUrl}/`,
    '--scope',
    'admin.audit',
  )
  await run?.(['operators', 'add', `0x${randomBytes(20).toString('hex')}`, '--role', 'owner'])
  await run?.(['operators', 'add', id, '--role', 'auditor'])
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: id, sub: id, aud: `http://localhost:${port}`, jti: randomUUID(), iat: now, exp: now + 60 }
  const input = `${encode({ alg: 'ES256', kid: '1' })}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    resource: `${adminUrl}/`,
    scope: 'admin.audit',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: `${input}.${signature}`,
  })
  const { status, text } = await fetchText(`http://127.0.0.1:${port}${paths.token}`, { method: 'POST', body })
  if (status !== 200) throw new Error(`the token of the auditor: ${status} ${text}`)
  return (JSON.parse(text) as { access_token: string }).access_token
}

/** Each round changes every client of the file. The command has the lowest priority: it would run on another machine. */
async function applyFile({ run }: Target): Promise<Beside> {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-bench-apply-'))
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  const [file, secrets] = [join(folder, 'clients.json'), join(folder, 'secrets')]
  let round = 0
  let applying: Promise<unknown> | undefined
  return {
    async ready() {
      round++
      const clients = Array.from({ length: CLIENTS }, (_, index) => ({
        client_id: `c0000000-0000-4000-8000-${index.toString(16).padStart(12, '0')}`,
        name: `Client ${index} of round ${round}`,
        type: 'public',
        redirect_uris: [`https://app-${index}.example.net/callback`],
      }))
      writeFileSync(file, JSON.stringify({ clients }))
    },
    async during(seconds) {
      applying = run?.(['apply', file, '--yes', '--secrets', `${secrets}.${round}`], { isIdle: true })
      await pause(seconds * 1000)
    },
    async settle() {
      await applying
      await pause(1000)
    },
  }
}
