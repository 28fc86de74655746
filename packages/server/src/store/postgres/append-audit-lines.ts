/**
 * The function that appends a batch to the audit trail, for a step of `migrations.ts`. A function, because each of its statements reads what was
 * committed before it began: after the wait for the head, the head is the one that the append before has left. It is also one message to the
 * database. With several, the head would stay locked while the node is busy. Citus cannot plan it as one statement.
 *
 * - `audit_writers`: a repeated batch, or one that arrives after later ones of its writer, finds its number taken. The row is written in any case,
 *   so the commit waits for a synchronous standby, also if an earlier attempt stored the lines.
 * - The text and the hash of each line are those of `placeAfter` in `domain/model/audit-chain.ts`.
 * - One statement inserts all lines: with one for each line, a batch of 200 kept the head locked five times as long on Citus.
 */
export const APPEND_AUDIT_LINES = `
  CREATE FUNCTION append_audit_lines(the_writer text, the_number bigint, the_time bigint, lines jsonb) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    latest bigint;
    head_seq bigint;
    head_hash text;
    rest text;
    composed text;
    places jsonb[];
  BEGIN
    INSERT INTO audit_writers AS w (id, number, previous, used_at) VALUES (the_writer, the_number, 0, the_time / 3600 * 3600)
      ON CONFLICT (id) DO UPDATE SET number = greatest(w.number, excluded.number), previous = w.number, used_at = excluded.used_at
      RETURNING previous INTO latest;
    IF latest >= the_number THEN
      RETURN;
    END IF;
    SELECT seq, hash INTO STRICT head_seq, head_hash FROM audit_head WHERE id = 1 FOR UPDATE;
    FOR rest IN SELECT value ->> 'rest' FROM jsonb_array_elements(lines) LOOP
      head_seq := head_seq + 1;
      composed := '{"seq":' || head_seq || ',' || rest;
      head_hash := translate(rtrim(encode(sha256(convert_to(head_hash || composed, 'UTF8')), 'base64'), '='), '+/', '-_');
      places := places || jsonb_build_object('seq', head_seq, 'line', composed, 'hash', head_hash);
    END LOOP;
    INSERT INTO audit_lines (seq, at, event, reason, client_id, grant_id, wallet, operator, line, hash)
      SELECT (place ->> 'seq')::bigint, (given ->> 'at')::bigint, given ->> 'event', given ->> 'reason', given ->> 'clientId',
             given ->> 'grantId', given ->> 'wallet', given ->> 'operator', place ->> 'line', place ->> 'hash'
      FROM ROWS FROM (jsonb_array_elements(lines), unnest(places)) AS both_of(given, place);
    UPDATE audit_head SET seq = head_seq, hash = head_hash WHERE id = 1;
  END
  $$`
