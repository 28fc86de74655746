import { readSettings } from '../../config/settings.ts'
import { defineCommand, EXIT } from '../../operators/terminal/command.ts'
import { checks } from '../doctor/all-checks.ts'
import type { Finding } from '../doctor/check.ts'
import { findingLines, summaryLine } from '../doctor/print-findings.ts'
import { runChecks } from '../doctor/run-checks.ts'

export const doctor = defineCommand({
  name: 'doctor',
  words: 'Checks a running installation, and prints what is wrong and what to do.',
  about: [
    'Run it with the environment of the services, on one of their machines, as their user. It reads and changes nothing else: the settings, both public URLs through their proxies, certificates, clocks, the database, keys, files of secrets, chains, and limits of the machine.',
    'Each line is ok, WARNING (works, but may not for long), WRONG, or UNKNOWN (could not be checked). The exit code is 1 if something is wrong. The command takes at most 15 seconds. docs/operating/init-and-doctor.md explains the checks.',
  ],
  options: { json: { words: 'Prints one JSON object with all findings.' } },
  examples: [
    'sudo -u grantor --preserve-env grantor doctor',
    'grantor doctor --json | jq \'.findings[] | select(.verdict != "ok")\'',
  ],
  program: 'serve',
  async run({ options }, { env, now, print }) {
    const findings: Finding[] = []
    const note = (found: readonly Finding[]): void => {
      findings.push(...found)
      if (!options.json) for (const line of found.flatMap(findingLines)) print(line)
    }
    const reading = readSettings('serve', env)
    if (reading.kind === 'faults') {
      note(
        reading.faults.map((found) => ({
          check: 'settings',
          verdict: 'wrong',
          found,
          remedy: 'Correct the setting (docs/reference/settings.md), and run this command with the environment of the services.',
        })),
      )
    } else {
      note([{ check: 'settings', verdict: 'ok', found: 'all settings of grantor serve are valid', remedy: null }])
      for await (const found of runChecks(checks, { settings: reading.settings, env, now })) note(found)
    }
    if (options.json) print(JSON.stringify({ findings }))
    else print(summaryLine(findings))
    return findings.some(({ verdict }) => verdict === 'wrong') ? EXIT.failed : EXIT.done
  },
})
