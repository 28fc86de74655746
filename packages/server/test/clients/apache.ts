/** Apache from Debian, in a folder and on a port of its own. A recipe of docs/guides/clients.md protects a page with the user in a header. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const PROGRAM = '/usr/sbin/apache2'
const MODULES = '/usr/lib/apache2/modules'
const LOADED = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'dir', 'headers', 'mime', 'auth_openidc']

/** The reason to skip a test if Apache or its module is not installed, otherwise an empty text. */
export function missingForApache(): string {
  const installed = [PROGRAM, `${MODULES}/mod_auth_openidc.so`].every((path) => existsSync(path))
  return installed ? '' : 'Apache and its module are not installed: apt install apache2 libapache2-mod-auth-openidc'
}

export type Apache = { url: string; errors(): string; stop(): Promise<void> }

export async function startApache(port: number, recipe: string, environment: Record<string, string>): Promise<Apache> {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-apache-'))
  // If root starts Apache, the worker processes run as another user and need access to the folder.
  chmodSync(folder, 0o755)
  const asRoot = process.getuid?.() === 0 ? ['User www-data', 'Group www-data'] : []
  for (const page of ['page', 'page/api', 'page/bye']) {
    mkdirSync(join(folder, page))
    writeFileSync(join(folder, page, 'index.html'), 'the page')
  }
  const configuration = [
    ...LOADED.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`),
    ...asRoot,
    'ServerName localhost',
    `Listen 127.0.0.1:${port}`,
    `PidFile ${folder}/pid`,
    `DefaultRuntimeDir ${folder}`,
    `ErrorLog ${folder}/errors`,
    'LogLevel warn auth_openidc:info',
    `DocumentRoot ${folder}/page`,
    'TypesConfig /dev/null',
    'DirectoryIndex index.html',
    'Header always set x-remote-user "expr=%{REMOTE_USER}"',
    // Tests read the module's session through this hook.
    'OIDCInfoHook access_token refresh_token userinfo',
    recipe,
  ]
  writeFileSync(join(folder, 'apache.conf'), configuration.join('\n'))
  const program = spawn(PROGRAM, ['-f', join(folder, 'apache.conf'), '-D', 'FOREGROUND'], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errorOutput = ''
  program.stderr.on('data', (chunk: Buffer) => (errorOutput += chunk.toString()))
  const errors = () => errorOutput + (existsSync(`${folder}/errors`) ? readFileSync(`${folder}/errors`, 'utf8') : '')
  const url = `http://localhost:${port}`
  const stop = async () => {
    if (program.exitCode === null && program.kill('SIGTERM')) await once(program, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await waitUntilReady(program, url, errors)
  } catch (error) {
    await stop()
    throw error
  }
  return { url, errors, stop }
}

async function waitUntilReady(program: ChildProcess, url: string, errors: () => string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (program.exitCode !== null) throw new Error(`Apache ended: ${errors()}`)
    const answer = await fetch(`${url}/bye/`).catch(() => null)
    if (answer) return
    await pause(50)
  }
  throw new Error(`Apache does not answer: ${errors()}`)
}
