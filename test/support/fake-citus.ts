/**
 * A plain database that looks as if it had the Citus extension, as far as `grantor migrate` looks: a row that says so,
 * and functions of Citus's names and arguments that note their calls and note, as Citus does, what is distributed.
 */
import type postgres from 'postgres'

export async function installFakeCitus({ sql }: { sql: postgres.Sql }): Promise<void> {
  await sql.unsafe(`
    SET allow_system_table_mods = on;
    INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      SELECT max(oid::bigint) + 1, 'citus', 10, 'pg_catalog'::regnamespace, false, 'of the tests' FROM pg_extension;
    RESET allow_system_table_mods;
    CREATE SCHEMA citus;
    CREATE TABLE citus.calls (number bigint GENERATED ALWAYS AS IDENTITY, call text NOT NULL, mode text);
    CREATE TABLE pg_dist_partition (logicalrelid regclass PRIMARY KEY);
    CREATE FUNCTION create_reference_table(table_name regclass) RETURNS void LANGUAGE sql AS $$
      INSERT INTO pg_dist_partition VALUES ($1);
      INSERT INTO citus.calls (call, mode) VALUES ('everywhere: ' || $1::text, current_setting('citus.multi_shard_modify_mode', true));
    $$;
    CREATE FUNCTION create_distributed_table(table_name regclass, distribution_column text, distribution_type text DEFAULT 'hash',
                                             colocate_with text DEFAULT 'default', shard_count int DEFAULT NULL)
      RETURNS void LANGUAGE sql AS $$
      INSERT INTO pg_dist_partition VALUES ($1);
      INSERT INTO citus.calls (call, mode) VALUES ($1::text || ' by ' || $2 || ', beside ' || $4, current_setting('citus.multi_shard_modify_mode', true));
    $$`)
}

/** The calls noted so far, in order. */
export async function callsOf({ sql }: { sql: postgres.Sql }): Promise<{ call: string; mode: string }[]> {
  return [...(await sql.unsafe<{ call: string; mode: string }[]>('SELECT call, mode FROM citus.calls ORDER BY number'))]
}
