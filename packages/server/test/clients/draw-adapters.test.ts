/** Each adapter of @grantor/resource draws from a limit that a wallet signed, and gives back, with the running service. */
import { ADAPTERS } from './draw-apis.ts'
import { drawContract } from './draw-contract.ts'

for (const [framework, start] of Object.entries(ADAPTERS)) drawContract(framework, start)
