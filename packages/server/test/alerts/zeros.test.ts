/** A counter that appears with its first event has no increase for this event. So every series that a rule reads exists from the start, at 0. */
import { join } from 'node:path'
import { expect } from 'vitest'
import { createSummedMetrics } from '../../src/observability/metrics/summed-metrics.ts'
import { launchForTest, newFolder, run } from '../app/run.ts'
import { startCollector } from '../support/collector.ts'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { freePorts } from '../support/free-ports.ts'
import { startHook } from '../support/hook.ts'
import { TEST_LOGIN_SECRET, TEST_SECRET } from '../support/start.ts'
import { alerts, type Matcher, records, selectorsIn } from './files.ts'

const test = base
  .extend(
    'collector',
    FILE,
    started(startCollector, (collector) => collector.close()),
  )
  .extend(
    'hook',
    FILE,
    started(startHook, (hook) => hook.close()),
  )

type Series = { name: string; labels: Record<string, string>; value: number }

function seriesOf(page: string): Series[] {
  return [...page.matchAll(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = '', labels = '', value]) => ({
    name,
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, text]) => [label, text])),
    value: Number(value),
  }))
}

/** Matchers without alternatives: `a=~"b|c"` is one of `a=~"b"` and one of `a=~"c"`. */
function alternatives(matchers: readonly Matcher[]): Matcher[][] {
  return matchers.reduce<Matcher[][]>(
    (before, { label, pattern }) =>
      before.flatMap((some) => pattern.split('|').map((each) => [...some, { label, pattern: each }])),
    [[]],
  )
}

const isOf = ({ labels }: Series, matchers: readonly Matcher[]) =>
  matchers.every(({ label, pattern }) => new RegExp(`^(?:${pattern})$`).test(labels[label] ?? ''))

test('Every series of a counter that a rule reads exists at 0 when the service has started', async ({ hook, collector }) => {
  const [auth = 0, login = 0, metrics = 0] = await freePorts(3)
  const env = {
    GRANTOR_DATABASE_URL: `sqlite:${join(newFolder(), 'grantor.sqlite')}`,
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_SECRET: TEST_SECRET,
    GRANTOR_LOGIN_SECRET: TEST_LOGIN_SECRET,
    GRANTOR_METRICS_LISTEN: `127.0.0.1:${metrics}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    ...hook.environment,
  }
  await run(['migrate'], env, Math.floor(Date.now() / 1000))
  const running = launchForTest(['serve'], env)
  await running.printed('auth service is ready')
  const pages = [await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text(), await createSummedMetrics(() => 1).render()]
  const served = pages.flatMap(seriesOf)
  const read = [...alerts(), ...records()].flatMap(({ expr }) => selectorsIn(expr))
  const counters = read.filter(({ name }) => /^grantor_.*_(?:total|count|bucket)$/.test(name))
  expect(counters.length).toBeGreaterThan(20)
  for (const { name, matchers } of counters) {
    for (const some of alternatives(matchers)) {
      const found = served.filter((series) => series.name === name && isOf(series, some))
      expect(found.length, `${name} ${JSON.stringify(some)}`).toBeGreaterThan(0)
    }
  }
})
