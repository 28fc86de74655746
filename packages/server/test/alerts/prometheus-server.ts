/** A real Prometheus, from Debian's package `prometheus`, which scrapes every second and runs the alerts of the package. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { stringify } from 'yaml'
import { freePorts } from '../support/free-ports.ts'
import { readRules } from './files.ts'

/** `values` are those of the series of an answer. */
export type Prometheus = {
  query(expr: string): Promise<number[]>
  /** the names of the alerts that fire */
  firing(): Promise<string[]>
  /** scrapes these ports from now on, under the job `grantor` */
  scrape(ports: readonly number[]): void
  stop(): Promise<void>
}

/** The alerts with windows of seconds. `promtool test rules` tests the windows of the file. */
function shortened() {
  const groups = readRules().groups.map((group) => ({
    ...group,
    rules: group.rules.map(({ for: pending, expr, ...rule }) => ({
      ...rule,
      ...(pending === undefined ? {} : { for: '3s' }),
      expr: expr
        .replaceAll(/\[\d+[mhd]\]/g, '[10s]')
        // On a busy machine, single requests are slow, and ten seconds have few requests.
        .replace('vector(0.99)', 'vector(0.5)')
        .replaceAll(/offset \d+m/g, 'offset 10s'),
    })),
  }))
  return { groups }
}

export async function startPrometheus(): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-prometheus-'))
  const file = (name: string, value: unknown): string => {
    const path = join(folder, name)
    writeFileSync(path, stringify(value))
    return path
  }
  const targets = join(folder, 'targets.yml')
  const scrape = (ports: readonly number[]) => void file('targets.yml', [{ targets: ports.map((port) => `127.0.0.1:${port}`) }])
  scrape([])
  const config = file('prometheus.yml', {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [file('rules.yml', shortened())],
    scrape_configs: [{ job_name: 'grantor', file_sd_configs: [{ files: [targets], refresh_interval: '1s' }] }],
  })
  const [port = 0] = await freePorts(1)
  const child = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const closed = once(child, 'close')
  const url = `http://127.0.0.1:${port}`
  const isReady = () =>
    fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  await expect.poll(isReady).toBe(true)

  async function ask<Data>(path: string): Promise<Data> {
    const answer = (await (await fetch(`${url}/api/v1/${path}`)).json()) as { status: string; error?: string; data: Data }
    if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`)
    return answer.data
  }

  return {
    scrape,
    async query(expr) {
      const { result } = await ask<{ result: { value: [number, string] }[] }>(`query?query=${encodeURIComponent(expr)}`)
      return result.map(({ value: [, text] }) => Number(text))
    },
    async firing() {
      const { alerts } = await ask<{ alerts: { state: string; labels: { alertname: string } }[] }>('alerts')
      return [...new Set(alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname))]
    },
    async stop() {
      child.kill('SIGTERM')
      await closed
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
