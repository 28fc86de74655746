/**
 * Approvals on PostgreSQL: one conditional update of one row. If no row changed, the row is read, and `domain/model/approvals.ts` decides about it. The
 * condition of each update is true exactly if the function decides to change the row.
 *
 * A statement that reads the grant finds it on the machine of its approvals.
 */
import type { ApprovalKey, ApprovalStore, AskedBefore } from '../../domain/model/approval-store.ts'
import { decideAnswer, decideUse } from '../../domain/model/approvals.ts'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import {
  APPROVAL_COLUMNS,
  type ApprovalRow,
  approvalOf,
  askedBefore,
  newApprovalRow,
  type UsableRow,
  usableOf,
} from '../approval-row.ts'
import { unpack } from '../packed.ts'
import { RESERVED, TRIES_AT_MOST } from './grant-statements.ts'
import type { PostgresConnection } from './statements/connection.ts'
import { hexOf } from './statements/values.ts'

/** The row, and on a cluster its machine. */
const APPROVAL = { table: 'approvals', key: 'grantId' } as const
const APPROVALS = { table: 'approvals' } as const

const IS_KEY = 'approvals.grant_id = :grantId::packed AND approvals.id = :id::packed'
/**
 * A difference and not a comparison. `expires_at > :at` is also a range of the index `approvals_by_end`: if every approval has expired, PostgreSQL expects
 * no row in this range, and keeps a plan that reads all approvals that wait.
 */
const IS_UNEXPIRED = 'approvals.expires_at - :at > 0'
/** Selected with a column: Citus rejects `EXISTS (SELECT FROM …)` while only one of the two tables is distributed. */
const GRANT_IF_ALIVE = `
  grants WHERE grants.id = :grantId::packed AND grants.ended_at IS NULL AND grants.expires_at > :at
    AND grants.attempt_id <> '${hexOf(RESERVED)}'`

// The id is selected from the row of the grant, so that Citus runs the whole statement on the machine of that row.
const INSERT = `
  INSERT INTO approvals (grant_id, id, client_id, wallet, digest, apps, user_code, scope, summary, asked_at, expires_at)
  SELECT grants.id, :id::packed, :clientId::packed, :wallet::packed, :digest::packed, :apps, :userCode, :scope, :summary, :at,
         :expiresAt::bigint
  FROM ${GRANT_IF_ALIVE}
  ON CONFLICT (grant_id, id) DO NOTHING
  RETURNING ${APPROVAL_COLUMNS}`

const ANSWER = `
  UPDATE approvals SET answered_at = :at, receipt_id = :receiptId::packed, is_last = :isLast::boolean,
    expires_at = CASE WHEN :isLast::boolean
      THEN coalesce((SELECT grants.expires_at FROM grants WHERE grants.id = :grantId::packed), approvals.expires_at)
      ELSE approvals.expires_at END
  WHERE ${IS_KEY} AND approvals.answered_at IS NULL AND ${IS_UNEXPIRED}
  RETURNING approvals.id`

const USE = `
  UPDATE approvals SET used_at = :at, attempt_id = :attemptId::packed
  WHERE ${IS_KEY} AND approvals.client_id = :clientId::packed AND approvals.receipt_id IS NOT NULL AND approvals.used_at IS NULL
    AND approvals.answered_at + :signedFor::bigint > :at AND EXISTS (SELECT 1 FROM ${GRANT_IF_ALIVE})
  RETURNING ${APPROVAL_COLUMNS}`

const READ = `SELECT ${APPROVAL_COLUMNS} FROM approvals WHERE ${IS_KEY}`

// `now`: the time of the read, by the clock that the store uses.
const READ_TIMED = `SELECT ${APPROVAL_COLUMNS}, :at AS now FROM approvals WHERE ${IS_KEY}`
const READ_USABLE = `
  SELECT ${APPROVAL_COLUMNS}, approvals.attempt_id, :at AS now, EXISTS (SELECT 1 FROM ${GRANT_IF_ALIVE}) AS is_alive
  FROM approvals WHERE ${IS_KEY}`
type Timed = { now: number }

// The comparison of the pairs is a range of `approvals_by_wallet` only, for the same reason. A join, because Citus rejects `EXISTS` for several approvals
// while only the grants are distributed.
const LIST_WAITING = `
  SELECT ${APPROVAL_COLUMNS} FROM approvals JOIN grants ON grants.id = approvals.grant_id
  WHERE approvals.wallet = :wallet::packed AND (approvals.wallet, approvals.expires_at) > (:wallet::packed, :at)
    AND approvals.answered_at IS NULL AND grants.ended_at IS NULL AND grants.expires_at > :at
  ORDER BY approvals.asked_at DESC, approvals.id DESC LIMIT :limit`

const FIND_BY_USER_CODE = `
  SELECT ${APPROVAL_COLUMNS} FROM approvals WHERE user_code = :userCode AND answered_at IS NULL AND ${IS_UNEXPIRED}
  ORDER BY asked_at DESC LIMIT 1`

// Both lists together: an id belongs to one grant.
const FIND_ANSWERED = `
  SELECT grant_id, id FROM approvals
  WHERE grant_id = ANY (:grantIds::packed[]) AND id = ANY (:ids::packed[]) AND answered_at IS NOT NULL`

export function createApprovalStore(connection: PostgresConnection): ApprovalStore {
  return { ...asking(connection), ...answering(connection), ...using(connection), ...readingApprovals(connection) }
}

const prepareConfirmation = (connection: PostgresConnection) =>
  connection.prepareConfirmation(`approvals WHERE ${IS_KEY}`, APPROVAL)

function asking(connection: PostgresConnection): Pick<ApprovalStore, 'ask'> {
  const insert = connection.prepare<ApprovalRow>('move', INSERT, APPROVAL)
  const read = connection.prepare<ApprovalRow>('read', READ, APPROVAL)
  const confirm = prepareConfirmation(connection)
  return {
    async ask(approval, at) {
      // Twice: the row that the first statement found can have been deleted before it was read, or lost if a standby was promoted meanwhile.
      for (let left = 2; left > 0; left--) {
        const [inserted] = await insert({ ...newApprovalRow(approval), at })
        if (inserted) return approvalOf(inserted)
        const [row] = await read(approval)
        if (!row) continue
        await confirm(approval)
        return approvalOf(row)
      }
      return null
    },
  }
}

function answering(connection: PostgresConnection): Pick<ApprovalStore, 'answer'> {
  const answer = connection.prepare('move', ANSWER, APPROVAL)
  const read = connection.prepare<ApprovalRow & Timed>('read', READ_TIMED, APPROVAL)
  const confirm = prepareConfirmation(connection)
  return {
    async answer(key, given) {
      for (let left = TRIES_AT_MOST; left > 0; left--) {
        if ((await answer({ ...key, ...given })).length > 0) return 'answered'
        const [row] = await read({ ...key, at: given.at })
        const decision = decideAnswer(row ? approvalOf(row) : null, { ...given, at: row?.now ?? given.at })
        // Another server took over meanwhile, and lacks the answer that the first statement found.
        if (decision.change === 'answer') continue
        if (decision.outcome === 'answered') await confirm(key)
        return decision.outcome
      }
      throw new StoreUnavailable('other requests keep changing the approval')
    },
  }
}

function using(connection: PostgresConnection): Pick<ApprovalStore, 'useApproval'> {
  const use = connection.prepare<ApprovalRow>('move', USE, APPROVAL)
  const read = connection.prepare<UsableRow & Timed>('read', READ_USABLE, APPROVAL)
  const confirm = prepareConfirmation(connection)
  return {
    async useApproval(key, asked) {
      for (let left = TRIES_AT_MOST; left > 0; left--) {
        const [used] = await use({ ...key, ...asked })
        if (used) return { kind: 'used', approval: approvalOf(used) }
        const [row] = await read({ ...key, at: asked.at })
        const decision = decideUse(row ? usableOf(row) : null, { ...asked, at: row?.now ?? asked.at })
        // The user signed meanwhile, or another server took over.
        if (decision.change === 'use') continue
        if (decision.outcome.kind === 'used') await confirm(key)
        return decision.outcome
      }
      throw new StoreUnavailable('other requests keep changing the approval')
    },
  }
}

function readingApprovals(
  connection: PostgresConnection,
): Pick<ApprovalStore, 'readApproval' | 'readAskedBefore' | 'listWaiting' | 'findByUserCode' | 'findAnswered'> {
  const read = connection.prepare<ApprovalRow>('read', READ, APPROVAL)
  const count = connection.prepare<AskedBefore>(
    'read',
    askedBefore({ grantId: ':grantId::packed', since: ':since::bigint', isLast: 'coalesce(bool_or(is_last), false)' }),
    APPROVAL,
  )
  const listWaiting = connection.prepare<ApprovalRow>('read', LIST_WAITING, APPROVALS)
  const findByUserCode = connection.prepare<ApprovalRow>('read', FIND_BY_USER_CODE, APPROVALS)
  const findAnswered = connection.prepare<Pick<ApprovalRow, 'grant_id' | 'id'>>('read', FIND_ANSWERED, APPROVALS)
  return {
    async readApproval(key) {
      const [row] = await read(key)
      return row ? approvalOf(row) : null
    },
    async readAskedBefore(grantId, times) {
      const [counted] = await count({ grantId, ...times })
      if (!counted) throw new Error('an aggregate has one row')
      return counted
    },
    listWaiting: async (wallet, page) => (await listWaiting({ wallet, ...page })).map(approvalOf),
    async findByUserCode(userCode, at) {
      const [row] = await findByUserCode({ userCode, at })
      return row ? approvalOf(row) : null
    },
    async findAnswered(keys) {
      if (keys.length === 0) return []
      const rows = await findAnswered({ grantIds: keys.map(({ grantId }) => grantId), ids: keys.map(({ id }) => id) })
      const answered = new Set(rows.map((row) => textOf({ grantId: unpack(row.grant_id), id: unpack(row.id) })))
      return keys.filter((key) => answered.has(textOf(key)))
    },
  }
}

const textOf = ({ grantId, id }: ApprovalKey): string => `${grantId} ${id}`
