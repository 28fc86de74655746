/** The statements that insert the row of a grant and rotate its refresh token. */
export const INSERT = `
  INSERT INTO grants (id, client_id, wallet, wallet_kind, receipt_id, consented, scopes, resources, created_at, expires_at, refresh_expires_at,
                      generation, refresh_key_id, rotated_at, attempt_id, ended_at, end_reason, dpop_jkt, auth_time, chain_id, session_hash,
                      session_receipt_id)
  VALUES (:id, :clientId, :wallet, :walletKind, :receiptId, :consented, :scopes, :resources, :at, :expiresAt, :refreshExpiresAt,
          0, :refreshKeyId, :at, :attemptId, :endedAt, :endReason, :dpopJkt, :authTime, :chainId, :sessionHash, :sessionReceiptId)
  ON CONFLICT (id) DO NOTHING`

// The condition under which a row may be refreshed, shared by both updates.
const REFRESHABLE = `
  WHERE id = :grantId AND client_id = :clientId AND generation = :generation
    AND ended_at IS NULL AND refresh_expires_at > :at AND (wallet_kind = 'ordinary' OR :walletChecked = 1)
    AND (dpop_jkt IS NULL OR dpop_jkt = :dpopJkt)
    AND EXISTS (SELECT 1 FROM json_each(grants.scopes) AS granted, json_each(:clientScopes) AS may WHERE granted.value = may.value)`

export const ROTATE = `
  UPDATE grants
  SET generation = generation + 1, refresh_key_id = :refreshKeyId, rotated_at = :at, attempt_id = :attemptId,
      refresh_expires_at = min(:refreshExpiresAt, expires_at)${REFRESHABLE}`

// The refresh token stays the same, so only its idle time is extended.
export const KEEP = `
  UPDATE grants
  SET refresh_expires_at = min(:refreshExpiresAt, expires_at)${REFRESHABLE}`

// For requests with fewer scopes or one resource, which are rare: the row changes only if everything requested was
// granted.
export const NARROWED = `
    AND NOT EXISTS (SELECT 1 FROM json_each(:scopes) AS asked
                    WHERE asked.value NOT IN (SELECT value FROM json_each(grants.scopes)))
    AND NOT EXISTS (SELECT 1 FROM json_each(:resources) AS asked
                    WHERE asked.value NOT IN (SELECT value FROM json_each(grants.resources)))`
