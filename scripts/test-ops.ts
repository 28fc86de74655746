/** Runs the dashboard and the alerts of `ops/` on a real Prometheus. Needs Debian's package `prometheus`; no daemon has to run. */
import { spawnSync } from 'node:child_process'

const RULES = 'ops/prometheus'
const missing = ['prometheus', 'promtool'].filter((program) => spawnSync(program, ['--version']).status !== 0)
const steps: [program: string, ...words: string[]][] = [
  ['promtool', 'check', 'rules', `${RULES}/grantor-alerts.yml`, `${RULES}/grantor-slo.yml`],
  ['promtool', 'test', 'rules', `${RULES}/grantor-alerts.test.yml`, `${RULES}/grantor-slo.test.yml`],
  ['npx', 'vitest', 'run', '--project', 'prometheus'],
]
if (missing.length > 0) {
  console.error(`missing: ${missing.join(', ')}; apt-get install prometheus brings them`)
  process.exitCode = 1
} else {
  const failed = steps.find(([program, ...words]) => spawnSync(program, words, { stdio: 'inherit' }).status !== 0)
  process.exitCode = failed ? 1 : 0
}
