/** The ids of approvals: which row an action is, and how the id is written on the wire. */
import { createHash } from 'node:crypto'
import type { ApprovalKey } from '../model/approval-store.ts'
import { uuidOfBytes } from '../model/uuid.ts'

/** 32 bytes in base64url, in one spelling. */
const WIRE_ID = /^[\w-]{42}[AEIMQUYcgkosw048]$/

/** The same action of the same API has the same id, and so one row, however often the API asks. `key`: the API's name of the action. */
export function approvalKeyOf(grantId: string, clientId: string, key: string): ApprovalKey {
  const hash = createHash('sha256').update(JSON.stringify([grantId, clientId, key]))
  return { grantId, id: uuidOfBytes(hash.digest().subarray(0, 16)) }
}

/** The id of the grant comes first, because it decides on which machine the row is. */
export function writeApprovalId({ grantId, id }: ApprovalKey): string {
  return Buffer.from(`${grantId}${id}`.replaceAll('-', ''), 'hex').toString('base64url')
}

/** Null if the text is no id of an approval. */
export function readApprovalId(text: string): ApprovalKey | null {
  if (!WIRE_ID.test(text)) return null
  const bytes = Buffer.from(text, 'base64url')
  return { grantId: uuidOfBytes(bytes.subarray(0, 16)), id: uuidOfBytes(bytes.subarray(16)) }
}
