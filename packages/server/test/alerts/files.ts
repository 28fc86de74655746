/** The dashboard and the alerts of the package, as Grafana and Prometheus read them. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

const read = (path: string): string => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')

export type Alert = {
  alert: string
  expr: string
  for?: string
  labels: Record<string, string>
  annotations: { summary: string }
}
export type RecordingRule = { record: string; expr: string; labels: Record<string, string> }
export type Rules = { groups: { name: string; rules: ((Alert | RecordingRule) & { for?: string })[] }[] }

const rulesOf = (name: string): Rules => parse(read(`ops/prometheus/${name}.yml`)) as Rules
export const readRules = (): Rules => ({ groups: ['grantor-alerts', 'grantor-slo'].flatMap((name) => rulesOf(name).groups) })
const rules = () => readRules().groups.flatMap((group) => group.rules)
export const alerts = (): Alert[] => rules().filter((rule) => 'alert' in rule)
export const records = (): RecordingRule[] => rules().filter((rule) => 'record' in rule)

type PromtoolTest = {
  input_series: { series: string; values: string }[]
  alert_rule_test: { alertname: string; exp_alerts: unknown[] }[]
}
export const promtoolTests = (): PromtoolTest[] =>
  ['grantor-alerts', 'grantor-slo'].flatMap(
    (name) => (parse(read(`ops/prometheus/${name}.test.yml`)) as { tests: PromtoolTest[] }).tests,
  )

export type Panel = { title: string; type: string; description?: string; targets?: { expr: string }[] }
export const panels = (): Panel[] => (JSON.parse(read('ops/grafana/grantor.json')) as { panels: Panel[] }).panels

/** The queries of the panels that show data. */
export const queries = (): { panel: string; expr: string }[] =>
  panels().flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ panel: title, expr })))

/** The names of the metrics in an expression, without the suffixes of a histogram. */
export function metricsIn(expr: string): string[] {
  const names = expr.match(/\b(?:grantor|nodejs|process)_[a-z0-9_]+/g) ?? []
  return names.map((name) => name.replace(/_(?:bucket|count|sum)$/, ''))
}

/** One condition of a selector; `pattern` is a regular expression. */
export type Matcher = { label: string; pattern: string }

/** The selectors of an expression: `name{label="value"}`. */
export function selectorsIn(expr: string): { name: string; matchers: Matcher[] }[] {
  return [...expr.matchAll(/\b((?:grantor|nodejs|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(([, name = '', matchers = '']) => ({
    name,
    matchers: [...matchers.matchAll(/(\w+)=~?"([^"]*)"/g)].map(([, label = '', pattern = '']) => ({ label, pattern })),
  }))
}

export const watchPage = (): string => read('docs/operating/watch.md')
