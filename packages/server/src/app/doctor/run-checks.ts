/** Runs checks at the same time, each within its time. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Check, type CheckResult, type Finding, type Probable, type Site, unchecked } from './check.ts'
import { sendProbe } from './probe.ts'

/** For each check. All run at once, so this is also the time of the whole command. */
const CHECK_MS = 15_000

/** Yields the findings of each check, in the order of the checks. */
export async function* runChecks(
  checks: readonly Check[],
  site: Omit<Site, 'probe'>,
  limitMs = CHECK_MS,
): AsyncGenerator<Finding[]> {
  const probes = new Map<Probable, ReturnType<Site['probe']>>()
  const probe: Site['probe'] = (server) => {
    const sent = probes.get(server) ?? sendProbe(site, server)
    probes.set(server, sent)
    return sent
  }
  const running = checks.map((check) => runOne(check, { ...site, probe }, limitMs))
  for (const findings of running) yield await findings
}

async function runOne({ name, run }: Check, site: Site, limitMs: number): Promise<Finding[]> {
  const late = new AbortController()
  const timeout = pause(limitMs, undefined, { signal: late.signal }).then(
    (): CheckResult[] => [unchecked(`no result within ${limitMs / 1000} seconds`, 'Run grantor doctor again.')],
    (): CheckResult[] => [],
  )
  const result = run(site).catch((error: unknown): CheckResult[] => [
    // The message of an unknown error may contain anything, so only its kind is printed.
    unchecked(`the check failed (${error instanceof Error ? error.name : 'unknown error'})`, 'Please report this.'),
  ])
  const found = await Promise.race([result, timeout])
  late.abort()
  return found.map((each) => ({ check: name, ...each }))
}
