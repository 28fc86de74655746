/** The RPC endpoints of the chains, which contract wallets need. */
import { connectChains } from '../compose/contract-wallets.ts'
import { type CheckResult, ok, type Site, warning, wrong } from './check.ts'

const SLOW_MS = 1_000

export async function checkChainEndpoints({ settings: { chains } }: Site): Promise<CheckResult[]> {
  if (chains.length === 0) return [ok('no chain is configured: ordinary wallets need none, and contract wallets cannot sign in')]
  const found = await Promise.all(
    chains.map(async (chain): Promise<CheckResult[]> => {
      const began = performance.now()
      // Each chain alone, as a home chain, so that its time is its own.
      const faults = await connectChains([{ ...chain, home: true }]).check()
      const took = Math.round(performance.now() - began)
      if (faults.length > 0)
        return faults.map(({ kind, words }) =>
          kind === 'wrong'
            ? wrong(words, 'Correct GRANTOR_CHAINS.')
            : warning(words, 'Check the endpoint, or name another one in GRANTOR_CHAINS.'),
        )
      const name = `chain ${chain.chainId} (${chain.rpc.length === 1 ? 'one endpoint' : `${chain.rpc.length} endpoints`})`
      return [
        took > SLOW_MS
          ? warning(
              `${name} answers two calls in ${took} ms`,
              'Use a faster endpoint: each sign-in of a contract wallet waits for it.',
            )
          : ok(`${name} answers two calls in ${took} ms`),
      ]
    }),
  )
  return found.flat()
}
