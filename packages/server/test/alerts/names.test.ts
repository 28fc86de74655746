import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { createMetrics } from '../../src/observability/metrics/metrics.ts'
import { createSummedMetrics } from '../../src/observability/metrics/summed-metrics.ts'
import { blockWith } from '../support/page-blocks.ts'
import { alerts, metricsIn, panels, promtoolTests, queries, records, watchPage } from './files.ts'

/** The names of all metrics of a service with several workers. */
async function servedNames(): Promise<Set<string>> {
  const metrics = createMetrics()
  metrics.watchKeys(() => [])
  metrics.watchAuditHead(() => 0)
  metrics.watchFeed(() => ({ entries: 0, bytes: 0, readers: 0, age: null, slowestAge: 0, delay: 0 }))
  const pages = [await metrics.render(), await createSummedMetrics(() => 1).render()]
  return new Set(pages.flatMap((page) => [...page.matchAll(/^# HELP (\S+)/gm)].map(([, name = '']) => name)))
}

test('Every metric that the dashboard, an alert or a recording rule uses is on the page /metrics', async () => {
  const served = await servedNames()
  for (const { expr } of [...queries(), ...alerts(), ...records()]) {
    const missing = metricsIn(expr).filter((name) => !served.has(name))
    expect({ expr, missing }).toEqual({ expr, missing: [] })
  }
})

test('Every panel of the dashboard has a title, a query and a description', () => {
  const shown = panels().filter(({ type }) => type !== 'row')
  expect(shown.length).toBeGreaterThan(15)
  for (const { title, description, targets } of shown) {
    expect({ title, length: title.length > 0 && (description ?? '').length > 0 && (targets ?? []).length > 0 }).toEqual({
      title,
      length: true,
    })
  }
})

test('The page on watching a service explains every alert, and every metric of Grantor', async () => {
  const page = watchPage()
  for (const { alert } of alerts()) expect(page).toContain(`\`${alert}\``)
  for (const name of await servedNames()) if (name.startsWith('grantor_')) expect(page).toContain(`\`${name}`)
})

test('Every alert fires in a test of promtool whose series begins above zero or in the bad state', () => {
  const tests = promtoolTests()
  for (const { alert } of alerts()) {
    const firing = tests.filter(({ alert_rule_test: asked }) =>
      asked.some(({ alertname, exp_alerts: expected }) => alertname === alert && expected.length > 0),
    )
    const isNew = (values: string) => /^_x\d+ [^_]/.test(values)
    expect(
      firing.some(({ input_series: series }) => series.some(({ values }) => isNew(values))),
      `a test of ${alert}`,
    ).toBe(true)
  }
})

test('Each inhibition of the page names alerts that exist, and a label that all of them have', () => {
  const { inhibit_rules: rules } = parse(blockWith('operating/watch.md', 'inhibit_rules')) as {
    inhibit_rules: { source_matchers: string[]; target_matchers: string[]; equal: string[] }[]
  }
  expect(rules).toHaveLength(1)
  for (const { source_matchers, target_matchers, equal } of rules) {
    expect(equal).toEqual(['job'])
    const names = [...source_matchers, ...target_matchers].flatMap((matcher) => matcher.match(/Grantor\w+/g) ?? [])
    expect(names).toContain('GrantorBackgroundTaskFails')
    for (const name of names) {
      const expr = alerts().find(({ alert }) => alert === name)?.expr
      expect(expr, `the expression of ${name}`).toMatch(/(?:sum|max|count) by \(job[,)]/)
    }
  }
})

test('Every alert has a severity and a summary', () => {
  for (const { alert, labels, annotations } of alerts()) {
    expect(['critical', 'warning', 'info'], `severity of ${alert}`).toContain(labels.severity)
    expect(annotations.summary, `summary of ${alert}`).toMatch(/\.$/)
  }
})
