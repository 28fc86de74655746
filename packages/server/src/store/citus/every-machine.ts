/** Runs one query on every machine of a Citus cluster, as the role of the connection. The role needs no special rights. */

import { forgetful, IS_FORGETFUL } from '../postgres/connection/client.ts'
import { failureOf, NotSent } from '../postgres/connection/errors.ts'
import type { Server } from '../postgres/connection/server.ts'
import type { Reply } from '../postgres/placement.ts'

/** A machine that accepts no connection within this time counts as not responding. */
const CONNECT_MS = 500

/** Returns a statement that runs a query for one value on all machines at the same time, over new connections of Citus. */
export function askEveryMachine(query: string): string {
  return `
  SELECT nodename AS host, nodeport AS port, groupid = (SELECT groupid FROM pg_dist_local_group) AS is_here, success, result
  FROM run_command_on_all_nodes(
    CASE WHEN set_config('citus.node_connection_timeout', '${CONNECT_MS}', true) <> '' THEN $query$${query}$query$ END)
  JOIN pg_dist_node USING (nodeid)
  ORDER BY 1, 2`
}

/** Reads which machines of a Citus cluster are forgetful. */
export const FIND_FORGETFUL = askEveryMachine(`SELECT ${IS_FORGETFUL}`)

/**
 * Rejects with `NotSent` if a machine of the cluster is forgetful. A machine that does not respond is ignored: no row on this machine can
 * be changed until the machine responds, and a later check reads its settings.
 */
export async function checkMachines(server: Server): Promise<void> {
  const replies = await server
    .use(({ query }) => query<Reply>(FIND_FORGETFUL))
    .catch((error: unknown) => {
      if (failureOf(error) === 'defect') throw error
      return []
    })
  const found = replies.find(({ success, result }) => success && result === 't')
  if (found) throw new NotSent(forgetful(`the PostgreSQL at ${found.host}:${found.port}`))
}
