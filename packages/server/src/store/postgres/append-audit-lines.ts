/**
 * The function that appends a batch to the audit trail, for a step of `migrations.ts`. A function, because each of its statements reads what was
 * committed before it began: after the wait for the head, the head is the one that the append before has left. It is also one message to the
 * database. With several, the head would stay locked while the node is busy. Citus cannot plan it as one statement.
 *
 * - `audit_writers`: a repeated batch, or one that arrives after later ones of its writer, finds its number taken. The row is written in any case,
 *   so the commit waits for a synchronous standby, also if an earlier attempt stored the lines.
 * - The text and the hash of each line are those of `placeAfter` in `domain/model/audit-chain.ts`. `text` is the text after the number: it is hashed,
 *   and not stored. The other members of a line are the columns of its row (`store/audit-row.ts`).
 * - One statement inserts all lines: with one for each line, a batch of 200 kept the head locked five times as long on Citus.
 */
export const APPEND_AUDIT_LINES = `
  CREATE FUNCTION append_audit_lines(the_writer text, the_number bigint, the_time bigint, lines jsonb) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    latest bigint;
    head_seq bigint;
    head_hash text;
    after_number text;
    hashed bytea;
    hashes bytea[];
    places bigint[];
  BEGIN
    INSERT INTO audit_writers AS w (id, number, previous, used_at) VALUES (the_writer, the_number, 0, the_time / 3600 * 3600)
      ON CONFLICT (id) DO UPDATE SET number = greatest(w.number, excluded.number), previous = w.number, used_at = excluded.used_at
      RETURNING previous INTO latest;
    IF latest >= the_number THEN
      RETURN;
    END IF;
    SELECT seq, hash INTO STRICT head_seq, head_hash FROM audit_head WHERE id = 1 FOR UPDATE;
    FOR after_number IN SELECT value ->> 'text' FROM jsonb_array_elements(lines) LOOP
      head_seq := head_seq + 1;
      hashed := sha256(convert_to(head_hash || '{"seq":' || head_seq || ',' || after_number, 'UTF8'));
      head_hash := translate(rtrim(encode(hashed, 'base64'), '='), '+/', '-_');
      hashes := hashes || hashed;
      places := places || head_seq;
    END LOOP;
    INSERT INTO audit_lines (seq, at, event, reason, client_id, grant_id, wallet, operator, id, request_id, network, rest, hash)
      SELECT seq, at, event, reason, client_id, grant_id, wallet, operator, id,
             request_id, network, rest, hash
      FROM ROWS FROM (
        jsonb_to_recordset(lines) AS (at bigint, event text, reason text, client_id bytea, grant_id bytea, wallet bytea, operator text,
          id bytea, request_id bytea, network text, rest text),
        unnest(places), unnest(hashes)
      ) AS placed(at, event, reason, client_id, grant_id, wallet, operator, id, request_id, network, rest, seq, hash);
    UPDATE audit_head SET seq = head_seq, hash = head_hash WHERE id = 1;
  END
  $$`
