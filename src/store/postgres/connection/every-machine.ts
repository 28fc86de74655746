/** Runs one query on every machine of a Citus cluster, as the role of the connection. The role needs no special rights. */

/** A machine that accepts no connection within this time counts as not responding. */
const CONNECT_MS = 500

/** The reply of one machine. `is_here`: whether this is the machine of the connection. `result`: the value, or, without `success`, the error. */
export type Reply = { host: string; port: number; is_here: boolean; success: boolean; result: string }

/** Returns a statement that runs a query for one value on all machines at the same time, over new connections of Citus. */
export function askEveryMachine(query: string): string {
  return `
  SELECT nodename AS host, nodeport AS port, groupid = (SELECT groupid FROM pg_dist_local_group) AS is_here, success, result
  FROM run_command_on_all_nodes(
    CASE WHEN set_config('citus.node_connection_timeout', '${CONNECT_MS}', true) <> '' THEN $query$${query}$query$ END)
  JOIN pg_dist_node USING (nodeid)
  ORDER BY 1, 2`
}
