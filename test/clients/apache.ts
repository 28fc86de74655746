/** Apache from Debian, in a folder and on a port of its own, with a recipe of docs/guides/clients.md around a page that says who is there. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const PROGRAM = '/usr/sbin/apache2'
const MODULES = '/usr/lib/apache2/modules'
const USED = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'dir', 'headers', 'mime', 'auth_openidc']

/** What is not installed, as words for a skipped test; '' where nothing is missing. */
export function missingForApache(): string {
  const there = [PROGRAM, `${MODULES}/mod_auth_openidc.so`].every((path) => existsSync(path))
  return there ? '' : 'Apache and its module are not installed: apt install apache2 libapache2-mod-auth-openidc'
}

export type Apache = { url: string; errors(): string; stop(): Promise<void> }

export async function startApache(port: number, recipe: string, environment: Record<string, string>): Promise<Apache> {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-apache-'))
  // Started by root it serves as another user, who has to get in
  chmodSync(folder, 0o755)
  const asRoot = process.getuid?.() === 0 ? ['User www-data', 'Group www-data'] : []
  for (const page of ['page', 'page/api', 'page/bye']) {
    mkdirSync(join(folder, page))
    writeFileSync(join(folder, page, 'index.html'), 'the page')
  }
  const configuration = [
    ...USED.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`),
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
    // What a test sees of the module's session
    'OIDCInfoHook access_token refresh_token userinfo',
    recipe,
  ]
  writeFileSync(join(folder, 'apache.conf'), configuration.join('\n'))
  const program = spawn(PROGRAM, ['-f', join(folder, 'apache.conf'), '-D', 'FOREGROUND'], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let complaints = ''
  program.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()))
  const errors = () => complaints + (existsSync(`${folder}/errors`) ? readFileSync(`${folder}/errors`, 'utf8') : '')
  const url = `http://localhost:${port}`
  const stop = async () => {
    if (program.exitCode === null && program.kill('SIGTERM')) await once(program, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await ready(program, url, errors)
  } catch (error) {
    await stop()
    throw error
  }
  return { url, errors, stop }
}

async function ready(program: ChildProcess, url: string, errors: () => string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (program.exitCode !== null) throw new Error(`Apache ended: ${errors()}`)
    const answer = await fetch(`${url}/bye/`).catch(() => null)
    if (answer) return
    await pause(50)
  }
  throw new Error(`Apache does not answer: ${errors()}`)
}
