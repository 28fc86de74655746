/** Approvals on SQLite. An answer and a use are one transaction, which reads the row, decides (`domain/model/approvals.ts`), and updates the row. */
import type { ApprovalKey, ApprovalStore, AskedBefore, UseOutcome } from '../../domain/model/approval-store.ts'
import { decideAnswer, decideUse } from '../../domain/model/approvals.ts'
import {
  APPROVAL_COLUMNS,
  type ApprovalRow,
  approvalOf,
  askedBefore,
  newApprovalRow,
  type UsableRow,
  usableOf,
} from '../approval-row.ts'
import { pack, packNullable } from '../packed.ts'
import type { SqliteConnection } from './connection.ts'

const IS_KEY = 'approvals.grant_id = :grantId AND approvals.id = :id'
const IS_ALIVE = 'ended_at IS NULL AND expires_at > :at'

const READ = `SELECT ${APPROVAL_COLUMNS} FROM approvals WHERE ${IS_KEY}`

const INSERT = `
  INSERT INTO approvals (grant_id, id, client_id, wallet, digest, apps, user_code, scope, summary, asked_at, expires_at)
  SELECT id, :id, :clientId, :wallet, :digest, :apps, :userCode, :scope, :summary, :at, :expiresAt
  FROM grants WHERE id = :grantId AND ${IS_ALIVE}
  ON CONFLICT (grant_id, id) DO NOTHING`

const ANSWER = `
  UPDATE approvals SET answered_at = :at, receipt_id = :receiptId, is_last = :isLast,
    expires_at = CASE WHEN :isLast = 1 THEN coalesce((SELECT expires_at FROM grants WHERE id = :grantId), expires_at) ELSE expires_at END
  WHERE ${IS_KEY}`

const READ_USABLE = `
  SELECT ${APPROVAL_COLUMNS}, attempt_id, EXISTS (SELECT 1 FROM grants WHERE id = :grantId AND ${IS_ALIVE}) AS is_alive
  FROM approvals WHERE ${IS_KEY}`

const USE = `UPDATE approvals SET used_at = :at, attempt_id = :attemptId WHERE ${IS_KEY}`

const LIST_WAITING = `
  SELECT ${APPROVAL_COLUMNS} FROM approvals WHERE wallet = :wallet AND answered_at IS NULL AND expires_at > :at
    AND EXISTS (SELECT 1 FROM grants WHERE id = approvals.grant_id AND ${IS_ALIVE})
  ORDER BY asked_at DESC, id DESC LIMIT :limit`

const FIND_BY_USER_CODE = `
  SELECT ${APPROVAL_COLUMNS} FROM approvals WHERE user_code = :userCode AND answered_at IS NULL AND expires_at > :at
  ORDER BY asked_at DESC LIMIT 1`

export function createApprovalStore(connection: SqliteConnection): ApprovalStore {
  return { ...changingApprovals(connection), ...readingApprovals(connection) }
}

function changingApprovals(connection: SqliteConnection): Pick<ApprovalStore, 'ask' | 'answer' | 'useApproval'> {
  const insert = connection.prepareWrite(INSERT)
  const present = connection.prepareWrite(READ)
  const readUsable = connection.prepareWrite(READ_USABLE)
  const answer = connection.prepareWrite(ANSWER)
  const use = connection.prepareWrite(USE)
  const readPresent = (key: ReturnType<typeof keyOf>) => {
    const row = present.get(key) as ApprovalRow | undefined
    return row ? approvalOf(row) : null
  }
  return {
    ask: (approval, at) =>
      connection.writeByOne(() => {
        insert.run({ ...newApprovalRow(approval), at })
        return readPresent(keyOf(approval))
      }),

    answer: (approvalKey, { receiptId, isLast, at }) =>
      connection.writeByOne(() => {
        const key = keyOf(approvalKey)
        const decision = decideAnswer(readPresent(key), { receiptId, isLast, at })
        if (decision.change === 'none') return decision.outcome
        answer.run({ ...key, receiptId: packNullable(receiptId), isLast: Number(isLast), at })
        return 'answered'
      }),

    useApproval: (approvalKey, { attemptId, at, ...asked }) =>
      connection.writeByOne((): UseOutcome => {
        const key = keyOf(approvalKey)
        const row = readUsable.get({ ...key, at }) as UsableRow | undefined
        const decision = decideUse(row ? usableOf(row) : null, { attemptId, at, ...asked })
        if (decision.change === 'none') return decision.outcome
        use.run({ ...key, attemptId: pack(attemptId), at })
        return { kind: 'used', approval: { ...approvalOf(row as UsableRow), usedAt: at } }
      }),
  }
}

function readingApprovals(
  connection: SqliteConnection,
): Pick<ApprovalStore, 'readApproval' | 'readAskedBefore' | 'listWaiting' | 'findByUserCode' | 'findAnswered'> {
  const read = connection.prepareRead(READ)
  const count = connection.prepareRead(askedBefore({ grantId: ':grantId', since: ':since', isLast: 'coalesce(max(is_last), 0)' }))
  const listWaiting = connection.prepareRead(LIST_WAITING)
  const findByUserCode = connection.prepareRead(FIND_BY_USER_CODE)
  const isAnswered = connection.prepareRead(`SELECT 1 FROM approvals WHERE ${IS_KEY} AND answered_at IS NOT NULL`)
  return {
    readApproval: (key) =>
      connection.read(() => {
        const row = read.get(keyOf(key)) as ApprovalRow | undefined
        return row ? approvalOf(row) : null
      }),
    readAskedBefore: (grantId, times) =>
      connection.read(() => {
        const counted = count.get({ grantId: pack(grantId), ...times }) as Omit<AskedBefore, 'isLast'> & { isLast: number }
        return { ...counted, isLast: counted.isLast === 1 }
      }),
    listWaiting: (wallet, page) =>
      connection.read(() => (listWaiting.all({ wallet: pack(wallet), ...page }) as ApprovalRow[]).map(approvalOf)),
    findByUserCode: (userCode, at) =>
      connection.read(() => {
        const row = findByUserCode.get({ userCode, at }) as ApprovalRow | undefined
        return row ? approvalOf(row) : null
      }),
    findAnswered: (keys) => connection.read(() => keys.filter((key) => isAnswered.get(keyOf(key)) !== undefined)),
  }
}

const keyOf = ({ grantId, id }: ApprovalKey) => ({ grantId: pack(grantId), id: pack(id) })
