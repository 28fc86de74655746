/** The clocks of the services and of the database, compared with the clock of this machine. */
import { type CheckResult, ok, type Site, unchecked, warning, wrong } from './check.ts'

/** Seconds. A node corrects its difference to the database's clock, and tokens and proofs tolerate a few seconds. */
const NOTABLE = 5
const HARMFUL = 30

export async function checkServiceClocks(site: Site): Promise<CheckResult[]> {
  return Promise.all(
    (['auth', 'login'] as const).map(async (server) => {
      const probed = await site.probe(server)
      const name = server === 'auth' ? 'grantor serve' : 'grantor login-server'
      if ('problem' in probed) return unchecked(`the clock of ${name} could not be read`, 'See the check of the proxies.')
      // The service read its clock at an unknown time between the request and the answer.
      const half = probed.takenMs / 2000
      return judge(name, probed.answer.now - (probed.sentAt + half), half)
    }),
  )
}

export function checkDatabaseClock({ name, now, at }: { name: string; now: number; at: number }): CheckResult {
  return judge(name, now - at)
}

function judge(name: string, difference: number, uncertain = 0): CheckResult {
  const seconds = Math.round(Math.max(0, Math.abs(difference) - uncertain))
  const found = `the clock of ${name} is ${seconds} seconds ${difference > 0 ? 'ahead of' : 'behind'} this machine`
  const remedy = 'Run an NTP client (chrony or systemd-timesyncd) on both machines.'
  if (seconds >= HARMFUL) return wrong(found, remedy)
  return seconds >= NOTABLE ? warning(found, remedy) : ok(`the clock of ${name} agrees with this machine`)
}
