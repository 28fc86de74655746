/**
 * The Helm chart. `npm run test:packages` runs these tests; they need `helm` and, of PyPI, `kubernetes-validate` with the schemas of
 * Kubernetes.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base, expect } from 'vitest'
import { readSettings } from '../../src/config/settings.ts'
import { FILE, started } from '../support/fixtures.ts'
import { ASKED, missing } from './missing.ts'

const CHART = join(import.meta.dirname, '../../../../ops/helm/grantor')
const STORES = ['sqlite', 'postgresql'] as const
/** the oldest version that the chart names, and the newest with schemas */
const KUBERNETES = ['1.29.0', '1.37.0'] as const
const lacking = ASKED ? missing('helm', 'kubernetes-validate') : 'nothing'
if (ASKED && lacking) console.log(`skipped: the Helm chart needs ${lacking}; docs/contributing/release.md names their packages`)

const chartTest = base
  .extend(
    'folder',
    FILE,
    started(
      async () => mkdtempSync(join(tmpdir(), 'grantor-chart-')),
      (folder) => rmSync(folder, { recursive: true }),
    ),
  )
  .runIf(ASKED && !lacking)

function helm(command: 'template' | 'lint', store: (typeof STORES)[number], ...more: string[]) {
  const args = [command, ...(command === 'template' ? ['grantor'] : []), CHART, '--values', join(CHART, `values-${store}.yaml`)]
  const { status, stdout, stderr } = spawnSync('helm', [...args, '--kube-version', '1.33.0', ...more], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

function render(store: (typeof STORES)[number], ...more: string[]): string {
  const { status, stdout, stderr } = helm('template', store, ...more)
  if (status !== 0) throw new Error(stderr)
  return stdout
}

/** The part of the manifests that begins with this container, up to the next container. */
function containerOf(manifests: string, name: string): string {
  const [, rest = ''] = manifests.split(new RegExp(`^ +- name: ${name}$`, 'm'))
  return rest.split(/^ +- name: \w+$\n +image:|^ +volumes:$|^ +containers:$/m)[0] ?? ''
}

for (const store of STORES) {
  chartTest(`helm lint accepts the chart with the values for ${store}`, () => {
    expect(helm('lint', store, '--strict')).toMatchObject({ status: 0 })
  })

  for (const version of KUBERNETES) {
    chartTest(
      `The schemas of Kubernetes ${version} accept each manifest for ${store}, and find no unknown field`,
      ({ folder }) => {
        const path = join(folder, `${store}.yaml`)
        writeFileSync(path, render(store, '--set', 'metrics.serviceMonitor=false'))
        const { status, stdout, stderr } = spawnSync('kubernetes-validate', ['--strict', '-k', version, path], {
          encoding: 'utf8',
        })
        expect({ status, stdout, stderr }).toMatchObject({ status: 0 })
        expect((stdout + stderr).match(/ passed for resource /g)?.length).toBeGreaterThanOrEqual(5)
      },
    )
  }

  chartTest(`Each container for ${store} is confined: not root, a read-only root file system, no capability`, () => {
    const manifests = render(store)
    const count = (text: string) => manifests.split(text).length - 1
    expect(count(' image: ')).toBe(3)
    for (const text of ['readOnlyRootFilesystem: true', 'allowPrivilegeEscalation: false', 'capabilities: { drop: [ALL] }']) {
      expect(count(text)).toBe(3)
    }
    const pods = count('automountServiceAccountToken: false')
    for (const text of ['runAsNonRoot: true', 'seccompProfile: { type: RuntimeDefault }']) expect(count(text)).toBe(pods)
  })

  chartTest(
    `The programs accept the settings that the chart gives them for ${store}, with every optional secret`,
    ({ folder }) => {
      const names = ['secret', 'login-secret', 'secret-previous', 'login-secret-previous', 'registration-token']
      for (const name of ['hook-secret', 'hook-secret-previous'])
        writeFileSync(join(folder, name), `whsec_${Buffer.alloc(32, name).toString('base64')}`)
      for (const name of names) writeFileSync(join(folder, name), `${name}-0123456789-0123456789-0123456789`)
      const ofHook = ['hookSecret', 'hookSecretPrevious']
      const optional = ['secretPrevious', 'loginSecretPrevious', 'registrationToken', 'chains', ...ofHook].map(
        (name) => `secret.${name}=true`,
      )
      const url = 'settings.GRANTOR_HOOK_URL=https://hook.example.com/'
      const manifests = render(store, '--set', [...optional, url].join(','))
      for (const [container, program] of [
        ['auth', 'serve'],
        ['login', 'login-server'],
        ['migrate', 'migrate'],
      ] as const) {
        const text = containerOf(manifests, container)
        const env = Object.fromEntries(
          [...text.matchAll(/name: (GRANTOR_\w+),?\s+value: "?([^"\n}]*?)"?(?: \}|\n)/g)].map(([, name = '', value = '']) => [
            name,
            value.replace('/run/grantor', folder),
          ]),
        )
        for (const [, name = '', key] of text.matchAll(
          /name: (GRANTOR_\w+)\n +valueFrom: \{ secretKeyRef: \{ name: grantor, key: ([\w-]+) \} \}/g,
        )) {
          env[name] = key === 'chains' ? '{}' : 'postgres://grantor:secret@db.example.com/grantor'
        }
        const reading = readSettings(program, env)
        expect(reading.kind === 'faults' ? reading.faults : []).toEqual([])
      }
    },
  )
}

chartTest('The login server has neither the secret of the keys nor the address of the database', () => {
  const login = containerOf(render('postgresql'), 'login')
  expect(login).toContain('args: [login-server]')
  expect(login).not.toMatch(/GRANTOR_SECRET_FILE|DATABASE_URL|name: secrets/)
})

chartTest('On PostgreSQL a job migrates the tables before the servers change; on SQLite the pod migrates its own file', () => {
  expect(render('postgresql')).toMatch(/kind: Job[\s\S]+helm\.sh\/hook: pre-install,pre-upgrade[\s\S]+args: \[migrate\]/)
  const sqlite = render('sqlite')
  expect(sqlite).not.toContain('kind: Job')
  expect(sqlite).toMatch(/kind: StatefulSet[\s\S]+initContainers:[\s\S]+args: \[migrate\]/)
})

/** The manifest of this kind and name. */
function manifestOf(manifests: string, kind: string, name: string): string {
  const found = manifests.split(/^---$/m).find((each) => each.includes(`kind: ${kind}\n`) && each.includes(`  name: ${name}\n`))
  return found ?? ''
}

chartTest('The admin API has a Service and an Ingress of its own, and the public origins do not lead to its port', () => {
  const manifests = render('postgresql')
  expect(manifestOf(manifests, 'Service', 'grantor-admin')).toContain('{ name: http, port: 80, targetPort: admin }')
  for (const name of ['auth', 'login']) expect(manifestOf(manifests, 'Service', `grantor-${name}`)).not.toMatch(/admin|4002/)
  const ingress = manifestOf(manifests, 'Ingress', 'grantor-admin')
  expect(ingress).toMatch(/ingressClassName: nginx-internal[\s\S]+secretName: admin-tls[\s\S]+host: admin\.example\.com/)
  expect(ingress).toContain('service: { name: grantor-admin, port: { name: http } }')
  const auth = containerOf(manifests, 'auth')
  expect(auth).toContain('{ name: GRANTOR_ADMIN_URL, value: "https://admin.example.com" }')
  expect(auth).toContain('{ name: admin, containerPort: 4002 }')
  expect(containerOf(manifests, 'login')).not.toContain('ADMIN')
  const policy = manifestOf(manifests, 'NetworkPolicy', 'grantor')
  expect(policy.match(/port: admin/g)).toHaveLength(1)
  expect(policy).toMatch(/ingress-nginx-internal\n +ports:\n +- \{ port: admin \}/)
})

chartTest('Without the URL of the admin API there is no listener, no Service and no Ingress for it', () => {
  const without = render('postgresql', '--set', 'admin.url=,admin.ingress.enabled=false')
  expect(without).not.toMatch(/grantor-admin|4002|ADMIN/)
  expect(manifestOf(render('sqlite'), 'Service', 'grantor-auth')).not.toBe('')
  expect(render('sqlite')).not.toMatch(/grantor-admin|4002|ADMIN/)
})

chartTest('Each container has a limit of memory and the pull policy of the values', () => {
  for (const store of STORES) {
    const containers = render(store, '--set', 'image.pullPolicy=Always')
      .split(/^ +image: /m)
      .slice(1)
    expect(containers).toHaveLength(3)
    for (const container of containers) {
      expect(container).toContain('imagePullPolicy: Always')
      expect(container).toMatch(/limits:\n +memory: \w+/)
    }
  }
})

for (const [what, value] of [
  ['an Ingress for the admin API without its URL', 'admin.ingress.enabled=true'],
  ['a plain http origin of the admin API', 'admin.url=http://admin.example.com'],
  ['the URL of the admin API among the settings', 'settings.GRANTOR_ADMIN_URL=https://admin.example.com'],
  ['a secret among the settings', 'settings.GRANTOR_SECRET=x'],
  ['a database URL among the settings', 'settings.GRANTOR_DATABASE_URL=postgres://u:p@h/d'],
  ['RPC URLs, which may hold keys, among the settings', 'settings.GRANTOR_CHAINS=x'],
  ['a setting that does not exist', 'settings.GRANTOR_DRAIN_SECOND=3'],
  ['a secret in the values', 'secret.value=x'],
  ['an unknown value', 'replica=3'],
  ['a plain http origin', 'authUrl=http://auth.example.com'],
  ['two replicas on SQLite', 'replicas=2'],
] as const) {
  chartTest(`The chart refuses ${what}`, () => {
    expect(helm('template', 'sqlite', '--set-string', value).status).not.toBe(0)
  })
}
