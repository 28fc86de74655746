/** One question to every machine of a Citus cluster. An ordinary role may ask: each machine is asked as the role of the connection. */

/** A machine that accepts no connection within this time has not answered. */
const CONNECT_MS = 500

/** The reply of one machine. `is_here`: it is the machine of the connection. `result`: the value, or the error without `success`. */
export type Reply = { host: string; port: number; is_here: boolean; success: boolean; result: string }

/** A statement that runs a query for one value on every machine at the same time, each over a new connection of Citus. */
export function askEveryMachine(query: string): string {
  return `
  SELECT nodename AS host, nodeport AS port, groupid = (SELECT groupid FROM pg_dist_local_group) AS is_here, success, result
  FROM run_command_on_all_nodes(
    CASE WHEN set_config('citus.node_connection_timeout', '${CONNECT_MS}', true) <> '' THEN $query$${query}$query$ END)
  JOIN pg_dist_node USING (nodeid)
  ORDER BY 1, 2`
}
