/**
 * The statements of the store as a page, for `grantor migrate --statements` and docs/reference/statements.md: the purpose of each, the partitions
 * that it uses, and its text. A test counts the partitions.
 */

import { SNAPSHOT_AS_JSON } from '../postgres/endings.ts'
import type { StatementKind } from '../postgres/statements/statement.ts'
import { FIND_COORDINATOR } from './coordinator.ts'
import { DISTRIBUTED } from './distribution.ts'
import { askEveryMachine, FIND_FORGETFUL } from './every-machine.ts'
import { everyStatement } from './every-statement.ts'
import { READ_SHARDS } from './machines.ts'

/**
 * - `one`: one partition, if the distribution key has one value
 * - `every`: all partitions, because the statement does not name the distribution key
 * - `coordinator`: a table that is on the coordinator only
 */
export type Reach = 'one' | 'every' | 'coordinator'

type NamedPattern = { name: string; is: RegExp; reach: 'one' | 'every'; why?: string }

const BY_WALLET = 'grants are distributed by their ids, not by wallet; only the account page and operators list them'
const BY_TIME = 'endings are found by their time; each node with readers of the feed reads them twice a second'
const BY_END = 'rows that can be deleted are on every machine; a batch is deleted at a time'

/** The statements on distributed tables. A part of the text identifies each statement. */
const NAMED: readonly NamedPattern[] = [
  { name: 'reserve a code’s grant, or spend a code', is: /^\s*INSERT INTO grants/, reach: 'one' },
  { name: 'redeem a code', is: /^\s*UPDATE grants SET attempt_id = :attemptId/, reach: 'one' },
  { name: 'refresh, narrowed', is: /^\s*UPDATE grants\s+SET generation = grants.generation[^]*resources, ' '\) @>/, reach: 'one' },
  { name: 'refresh', is: /^\s*UPDATE grants\s+SET generation = grants.generation(?![^]*resources, ' '\) @>)/, reach: 'one' },
  { name: 'refresh without rotation, narrowed', is: /^\s*UPDATE grants\s+SET refresh_expires_at[^]*resources, ' '\) @>/, reach: 'one' },
  { name: 'refresh without rotation', is: /^\s*UPDATE grants\s+SET refresh_expires_at(?![^]*resources, ' '\) @>)/, reach: 'one' },
  { name: 'read why a refresh changed nothing', is: /^SELECT grants\.id[^]*AS at FROM grants WHERE grants\.id = :grantId/, reach: 'one' },
  { name: 'end a grant as it was read', is: /^\s*UPDATE grants SET ended_at = :at, end_reason = :reason\s+WHERE id = :grantId[^]*generation = :generation/, reach: 'one' },
  { name: 'revoke an access token', is: /^\s*UPDATE grants\s+SET revoked_tokens/, reach: 'one' },
  { name: 'end a grant with too many revoked tokens', is: /^\s*UPDATE grants SET[^]*too_many_revoked_tokens/, reach: 'one' },
  { name: 'end a grant', is: /^\s*UPDATE grants SET ended_at = :at, end_reason = :reason\s+WHERE grants\.id = :grantId/, reach: 'one' },
  { name: 'read whether a grant is valid', is: /^\s*SELECT grants\.id, grants\.client_id, grants\.expires_at[^]*FROM grants WHERE id = :id/, reach: 'one' },
  { name: 'read a grant', is: /^\s*SELECT grants\.id[^]*FROM grants WHERE id = :id/, reach: 'one' },
  { name: 'read the client of a grant', is: /^SELECT client_id, ended_at FROM grants/, reach: 'one' },
  { name: 'read whether a token was revoked', is: /is_revoked FROM grants/, reach: 'one' },
  { name: 'read a wallet and its epoch', is: /^SELECT address, epoch, proved_itself FROM wallets/, reach: 'one' },
  { name: 'find wallets by the beginning of their address', is: /^SELECT address FROM wallets WHERE address >/, reach: 'every', why: 'an operator’s search' },
  { name: 'store that a wallet proved itself', is: /^INSERT INTO wallets[^]*SET proved_itself/, reach: 'one' },
  { name: 'add a wallet', is: /^INSERT INTO wallets[^]*DO NOTHING/, reach: 'one' },
  { name: 'raise an epoch', is: /^INSERT INTO wallets[^]*SET epoch/, reach: 'one' },
  { name: 'start a session', is: /^INSERT INTO sessions/, reach: 'one' },
  { name: 'read the attempt that started a session', is: /^SELECT attempt_id FROM sessions/, reach: 'one' },
  { name: 'read whether a session is open', is: /^SELECT hash, ended_at, replaced_by FROM sessions/, reach: 'one' },
  { name: 'read a session', is: /^SELECT sessions.hash[^]*FROM sessions WHERE hash = :hash/, reach: 'one' },
  { name: 'store the last visit of a session', is: /^UPDATE sessions SET last_seen_at/, reach: 'one' },
  { name: 'replace a session', is: /^UPDATE sessions SET ended_at = :at, replaced_by/, reach: 'one' },
  { name: 'end a session', is: /^UPDATE sessions SET ended_at = least/, reach: 'one' },
  { name: 'store a receipt', is: /^\s*INSERT INTO receipts/, reach: 'one' },
  { name: 'read a receipt', is: /^SELECT wallet, id[^]*FROM receipts WHERE wallet = :wallet AND id = :id/, reach: 'one' },
  { name: 'list a wallet’s receipts that were not withdrawn', is: /FROM receipts[^]*END\) = 0 AND \(client_id,/, reach: 'one' },
  { name: 'list a wallet’s receipts for a client that were not withdrawn', is: /FROM receipts[^]*END\) = 0 AND client_id =/, reach: 'one' },
  { name: 'list a wallet’s receipts that were withdrawn', is: /FROM receipts[^]*END\) = 1 AND \(client_id,/, reach: 'one' },
  { name: 'list a wallet’s receipts for a client that were withdrawn', is: /FROM receipts[^]*END\) = 1 AND client_id =/, reach: 'one' },
  { name: 'withdraw a receipt', is: /^UPDATE receipts SET withdrawn_at = :at WHERE/, reach: 'one' },
  { name: 'confirm what was found in a grant', is: /^SELECT CASE[^]*FROM grants/, reach: 'one' },
  { name: 'confirm what was found in a session', is: /^SELECT CASE[^]*FROM sessions/, reach: 'one' },
  { name: 'confirm what was found in a wallet or its receipts', is: /^SELECT CASE[^]*FROM wallets/, reach: 'one' },
  { name: 'confirm a use', is: /^SELECT CASE[^]*FROM spent/, reach: 'one' },
  { name: 'confirm what was found in a pushed request', is: /^SELECT CASE[^]*FROM pushed_requests/, reach: 'one' },
  { name: 'delete some of a wallet’s receipts', is: /^\s*DELETE FROM receipts WHERE wallet = :wallet AND id IN/, reach: 'one' },
  { name: 'store the time of a receipt’s check', is: /^UPDATE receipts SET checked_at/, reach: 'one' },
  { name: 'list a wallet’s sessions', is: /FROM sessions\s+WHERE wallet = :wallet/, reach: 'every', why: 'the same, for the account page' },
  { name: 'list grants of a wallet', is: /FROM grants WHERE wallet = :wallet AND \(created_at, id\) </, reach: 'every', why: BY_WALLET },
  { name: 'list a client’s grants that have not ended, the oldest first', is: /FROM grants WHERE client_id = :clientId AND[^]*END\) = 0 AND \(created_at, id\) >/, reach: 'every', why: 'an operator ends or deletes a client' },
  { name: 'list a client’s grants that have not ended', is: /FROM grants WHERE client_id = :clientId AND[^]*END\) = 0 AND \(created_at, id\) </, reach: 'every', why: 'an operator’s command' },
  { name: 'list a client’s grants that have ended', is: /FROM grants WHERE client_id = :clientId AND[^]*END\) = 1 AND \(created_at, id\) </, reach: 'every', why: 'the same' },
  { name: 'list grants', is: /FROM grants WHERE id < :afterId ORDER BY id/, reach: 'every', why: 'an operator’s command' },
  { name: 'list a wallet’s grants that have not ended', is: /FROM grants WHERE wallet = :wallet AND \(ended_at IS NULL\)::integer = 1 AND \(client_id, created_at\) <=/, reach: 'every', why: BY_WALLET },
  { name: 'list a wallet’s grants with a client that have not ended', is: /FROM grants WHERE wallet = :wallet AND \(ended_at IS NULL\)::integer = 1 AND client_id = :clientId/, reach: 'every', why: 'the same; also in the background after a code exchange, to enforce the limit of grants' },
  { name: 'count a wallet’s grants that have not ended', is: /count\(\*\)[^]*FROM grants WHERE wallet = :wallet AND \(ended_at/, reach: 'every', why: 'the same, for the console' },
  { name: 'count a client’s grants that have not ended', is: /count\(\*\)[^]*FROM grants WHERE client_id = :clientId AND ended_at IS NULL/, reach: 'every', why: 'before an operator deletes a client' },
  { name: 'count a client’s grants that have not ended, up to a bound', is: /count\(\*\)[^]*FROM grants WHERE client_id = :clientId AND \(CASE/, reach: 'every', why: 'a page of the console' },
  { name: 'count all grants, up to a bound', is: /FROM \(SELECT 1 FROM grants LIMIT :mostRows\)/, reach: 'every', why: 'the overview of the console, once a minute' },
  { name: 'list the sessions of all wallets', is: /FROM sessions\s+WHERE coalesce[^]* DESC/, reach: 'every', why: 'a page of the console' },
  { name: 'list the sessions of all wallets, the oldest first', is: /FROM sessions\s+WHERE coalesce[^]* ASC/, reach: 'every', why: 'the same' },
  { name: 'count the sessions of all wallets', is: /count\(\*\)[^]*FROM sessions WHERE coalesce/, reach: 'every', why: 'the same' },
  { name: 'list grants of a wallet, the oldest first', is: /FROM grants WHERE wallet = :wallet AND \(created_at, id\) >/, reach: 'every', why: BY_WALLET },
  { name: 'list a client’s grants that have ended, the oldest first', is: /FROM grants WHERE client_id = :clientId AND[^]*END\) = 1 AND \(created_at, id\) >/, reach: 'every', why: 'a page of the console' },
  { name: 'list grants, the oldest first', is: /FROM grants WHERE id > :afterId ORDER BY id/, reach: 'every', why: 'the same' },
  { name: 'end a grant, one of several', is: /^UPDATE grants SET ended_at = least/, reach: 'one' },
  { name: 'find grants to delete', is: /over_since FROM grants WHERE/, reach: 'every', why: BY_END },
  { name: 'delete grants and their draws', is: /DELETE FROM grants WHERE id = ANY/, reach: 'every', why: 'the same; a grant and its draws are deleted together' },
  { name: 'delete grants', is: /DELETE FROM grants WHERE/, reach: 'every', why: 'the same: each machine deletes its rows' },
  { name: 'find sessions to delete', is: /over_since FROM sessions WHERE/, reach: 'every', why: BY_END },
  { name: 'delete sessions', is: /DELETE FROM sessions WHERE/, reach: 'every', why: 'the same: each machine deletes its rows' },
  { name: 'find receipts to delete', is: /over_since FROM receipts WHERE/, reach: 'every', why: BY_END },
  { name: 'delete receipts', is: /DELETE FROM receipts WHERE/, reach: 'every', why: 'the same: each machine deletes its rows' },
  { name: 'use an assertion or a proof once', is: /^INSERT INTO spent[^]*VALUES \(:hash, :kind/, reach: 'one' },
  { name: 'revoke a token without a grant', is: /^INSERT INTO spent[^]*\(:hash, 2, :at[^]*:attemptId/, reach: 'one' },
  { name: 'note a revoked token of a grant', is: /^INSERT INTO spent[^]*\(:jti, 4, :at/, reach: 'one' },
  { name: 'note that tokens of a client ended', is: /^INSERT INTO spent[^]*\(:hash, 3, :at/, reach: 'one' },
  { name: 'read the grants that ended', is: /^SELECT id, client_id, resources, ended_at FROM grants/, reach: 'every', why: BY_TIME },
  { name: 'read what ended without a grant, and the revoked tokens', is: /^SELECT hash, kind, expires_at, attempt_id FROM spent/, reach: 'every', why: 'the same' },
  { name: 'read the grants of revoked tokens', is: /^SELECT id, client_id, resources FROM grants WHERE id = ANY/, reach: 'every', why: 'the same' },
  { name: 'read whether an assertion or a proof was used', is: /^SELECT hash FROM spent WHERE hash/, reach: 'one' },
  { name: 'find uses to delete', is: /over_since FROM spent WHERE/, reach: 'every', why: BY_END },
  { name: 'delete uses', is: /DELETE FROM spent WHERE/, reach: 'every', why: 'the same: each machine deletes its rows' },
  { name: 'push a request', is: /^\s*INSERT INTO pushed_requests/, reach: 'one' },
  { name: 'read a pushed request', is: /FROM pushed_requests WHERE id = :id/, reach: 'one' },
  { name: 'spend a pushed request', is: /^\s*UPDATE pushed_requests/, reach: 'one' },
  { name: 'find pushed requests to delete', is: /over_since FROM pushed_requests WHERE/, reach: 'every', why: BY_END },
  { name: 'delete pushed requests', is: /DELETE FROM pushed_requests WHERE/, reach: 'every', why: 'the same: each machine deletes its rows' },
  { name: 'ask for an approval', is: /^\s*INSERT INTO approvals/, reach: 'one' },
  { name: 'answer an approval', is: /^\s*UPDATE approvals SET answered_at/, reach: 'one' },
  { name: 'use an approval', is: /^\s*UPDATE approvals SET used_at/, reach: 'one' },
  { name: 'read why an answer to an approval was not stored', is: /^SELECT approvals\.grant_id[^]*AS now FROM approvals/, reach: 'one' },
  { name: 'read why an approval was not used', is: /AS is_alive\s+FROM approvals/, reach: 'one' },
  { name: 'read an approval', is: /is_last FROM approvals WHERE approvals\.grant_id = :grantId/, reach: 'one' },
  { name: 'count what the apps of a grant asked for', is: /FROM approvals WHERE grant_id = :grantId\) AS of_grant/, reach: 'one' },
  { name: 'confirm what was found in an approval', is: /^SELECT CASE[^]*FROM approvals/, reach: 'one' },
  { name: 'list the approvals of a wallet that wait', is: /FROM approvals JOIN grants\b/, reach: 'every', why: 'approvals are with their grants; the account page lists those of a wallet, and an API that asks counts them' },
  { name: 'find an approval by its user code', is: /FROM approvals WHERE user_code/, reach: 'every', why: 'the same; a user enters the code' },
  { name: 'find the approvals that have an answer', is: /^\s*SELECT grant_id, id FROM approvals\s+WHERE grant_id = ANY/, reach: 'every', why: 'one statement for all requests of a node that wait for an answer' },
  { name: 'find approvals to delete', is: /over_since FROM approvals WHERE/, reach: 'every', why: BY_END },
  { name: 'delete approvals', is: /DELETE FROM approvals WHERE/, reach: 'every', why: 'the same: each machine deletes its rows' },
  { name: 'draw', is: /^\s*WITH counted AS \(\s*UPDATE grants SET drawn_from/, reach: 'one' },
  { name: 'give back a draw', is: /^\s*WITH back AS \(\s*UPDATE draws/, reach: 'one' },
  { name: 'read a draw', is: /^SELECT draws\.grant_id[^]*FROM draws WHERE draws\.grant_id = :grantId AND draws\.client_id/, reach: 'one' },
  { name: 'read why nothing was drawn', is: /^\s*SELECT grants\.id[^]*FROM grants LEFT JOIN draws/, reach: 'one' },
  { name: 'list the draws of a grant', is: /FROM draws WHERE draws\.grant_id = :grantId AND draws\.number/, reach: 'one' },
  { name: 'confirm what was found in a draw', is: /^SELECT CASE[^]*FROM draws/, reach: 'one' },
  { name: 'store a batch of audit lines that wait', is: /^INSERT INTO audit_waiting/, reach: 'one' },
  { name: 'read the batches of audit lines that wait', is: /^SELECT series[^]*FROM audit_waiting/, reach: 'every', why: 'each node once a minute, and after the coordinator was unavailable' },
  { name: 'remove a batch of audit lines that is in the chain', is: /^DELETE FROM audit_waiting/, reach: 'one' },
  { name: 'count the audit lines that wait', is: /sum\(size\)[^]*FROM audit_waiting/, reach: 'every', why: 'a node whose lines begin to wait, and an operator’s command' },
  { name: 'end a grant of a restored database', is: /UPDATE grants SET ended_at = :at, end_reason = 'restored'/, reach: 'one' },
  { name: 'end a session of a restored database', is: /^UPDATE sessions SET ended_at = :at\s+WHERE/, reach: 'one' },
  { name: 'read the grants of a restored database', is: /^SELECT id, ended_at IS NULL AS living FROM grants/, reach: 'every', why: 'every row of a restored database is read' },
  { name: 'read the sessions of a restored database', is: /^SELECT hash, ended_at IS NULL AS living FROM sessions/, reach: 'every', why: 'the same' },
  { name: 'find wallets with sessions by a shortened address', is: /^SELECT DISTINCT wallet FROM sessions/, reach: 'every', why: 'an operator compares a restored database with the log' },
  { name: 'find wallets with grants by a shortened address', is: /^SELECT DISTINCT wallet FROM grants/, reach: 'every', why: 'the same' },
  { name: 'find wallets with receipts by a shortened address', is: /^SELECT DISTINCT wallet FROM receipts/, reach: 'every', why: 'the same' },
  { name: 'read the receipts of a restored database', is: /^SELECT wallet, id, withdrawn_at IS NULL AS living FROM receipts/, reach: 'every', why: 'the same' },
] // biome-ignore format: one line each

export type ListedStatement = { name: string; kind: StatementKind; reach: Reach; sql: string }

/** The patterns name the parameters without their packed form. */
const patternOf = (sql: string): NamedPattern | undefined => {
  const text = sql.replaceAll('::packed', '')
  return NAMED.find(({ is }) => is.test(text))
}
export const reachOf = (sql: string): Reach => patternOf(sql)?.reach ?? 'coordinator'
export const nameOf = (sql: string): string => patternOf(sql)?.name ?? ''

export async function listStatements(): Promise<ListedStatement[]> {
  return (await everyStatement()).map(({ kind, sql }) => ({ name: nameOf(sql), kind, reach: reachOf(sql), sql }))
}

export async function statementsPage(): Promise<string> {
  const described = await listStatements()
  const one = described.filter(({ reach }) => reach === 'one')
  const every = described.filter(({ reach }) => reach === 'every')
  const local = described.filter(({ reach }) => reach === 'coordinator')
  return `# Statements on PostgreSQL

For engineers who change a statement, and for operators who ask what reaches their database. This page lists every statement of the service
with the number of partitions that it uses. [scaling.md](../operating/scaling.md) explains why that number matters.

A test collects the statements from the program, runs each of them on tables that are partitioned by the keys below, and counts the partitions
([reach.test.ts](../../packages/server/test/store/postgres/reach.test.ts)).

| table | distributed by |
|---|---|
${Object.entries(DISTRIBUTED)
  .map(([table, column]) => `| \`${table}\` | \`${column}\` |`)
  .join('\n')}
| all others | not distributed: on the coordinator |

On a distributed engine each statement is a transaction of its own. There are three kinds:

- A **read** changes nothing.
- A **move** can be repeated if its response was lost. The repetition changes nothing more, and returns what the caller needs of the first result.
- A statement of the kind **once** is not repeated if it may have taken effect.

\`:at\` is the time at which the statement began, by the database's clock. \`:id::packed\` is the packed form of an id, a hash or an address, a value of
the type \`bytea\`: 16 bytes for a UUID, 25 for an address, 32 for a hash.

## One partition

${one.map(section).join('\n')}
## Every partition

| statement | why |
|---|---|
${every.map(({ name, sql }) => `| ${name} | ${patternOf(sql)?.why ?? ''} |`).join('\n')}

${every.map(section).join('\n')}
## On the coordinator

Clients, keys and the tables that have one row for the whole service.

${local.map(section).join('\n')}
## Sent by each node on Citus

A node reads the machine of each shard every five seconds. At the start and every ten seconds, a node checks the settings of every machine. A node
that appends audit lines reads the address of the coordinator, at most every five seconds. A node that reads endings reads the transactions of
every machine.

${[READ_SHARDS, FIND_FORGETFUL, FIND_COORDINATOR, askEveryMachine(SNAPSHOT_AS_JSON)].map((sql) => section({ name: '', kind: 'read', sql })).join('\n')}`
}

function section({ name, kind, sql }: Omit<ListedStatement, 'reach'>): string {
  const lines = sql.split('\n')
  const depth = Math.min(
    ...lines
      .slice(lines[0]?.trim() === '' ? 1 : 0)
      .filter((line) => line.trim() !== '')
      .map(indent),
  )
  const text = lines
    .map((line) => line.slice(Math.min(depth, indent(line))))
    .join('\n')
    .trim()
  const title = name === '' ? kind[0]?.toUpperCase() + kind.slice(1) : `**${name[0]?.toUpperCase()}${name.slice(1)}** (${kind})`
  return `${title}:\n\n\`\`\`sql\n${text}\n\`\`\`\n`
}

const indent = (line: string) => line.length - line.trimStart().length
