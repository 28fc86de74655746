/** Runs the commands of the pages in docs/operating unchanged in a shell, on the files of a test. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OWN_ENVIRONMENT } from './own-environment.ts'
import { blocksOf } from './page-blocks.ts'

const pages = new URL('../../../../docs/operating/', import.meta.url)
/** The texts of the pages, one after the other. */
export const operatingPages = readdirSync(pages)
  .map((name) => readFileSync(new URL(name, pages), 'utf8'))
  .join('\n')
const BIN = fileURLToPath(new URL('../../bin/grantor.js', import.meta.url))

/** The code block with this mark. */
function blockOf(language: 'sh' | 'yaml', mark: string): string {
  const blocks = readdirSync(pages).flatMap((name) => blocksOf(`operating/${name}`))
  const block = blocks.find((each) => each.language === language && each.mark === mark)
  if (!block) throw new Error(`no page has a ${language} block marked ${mark}`)
  return block.text
}

/** A folder that represents the machine of the page, without systemd and without the commands that need root. */
export function machineIn(folder: string) {
  const [library, backups, settings] = ['var/lib/grantor', 'var/backups/grantor', 'etc/grantor'].map((path) => join(folder, path))
  for (const path of [library, backups, settings]) mkdirSync(path ?? '', { recursive: true })
  const stand = [
    'set -eu',
    'systemctl() { :; }',
    'sudo() { shift 2; [ "$1" != --preserve-env ] || shift; "$@"; }',
    'install() { command install -m "$2" "$7" "$8"; }',
    'chown() { :; }',
    `grantor() { node '${BIN}' "$@"; }`,
  ].join('\n')
  const here = (block: string) => block.replaceAll(/(?<![\w.])\/(var|etc)\//g, `${folder}/$1/`)
  const runText = (text: string, env: Record<string, string> = {}) => {
    const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', `${stand}\n${here(text)}`], {
      cwd: folder,
      env: { ...OWN_ENVIRONMENT, ...env },
      encoding: 'utf8',
    })
    return { exit: status, out: stdout, err: stderr }
  }
  return {
    databasePath: join(library ?? '', 'grantor.sqlite'),
    backupPath: join(backups ?? '', 'grantor.sqlite'),
    secretPath: join(settings ?? '', 'secret'),
    paste: (mark: string, env: Record<string, string> = {}) => runText(blockOf('sh', mark), env),
    runText,
    /** Starts commands. The last command replaces the shell and runs until it is stopped. */
    start(mark: string, env: Record<string, string> = {}): ChildProcess {
      return spawn('bash', ['--norc', '-c', `${stand}\n${here(blockOf('sh', mark))}`], {
        env: { ...OWN_ENVIRONMENT, ...env },
        stdio: 'ignore',
      })
    },
    /** A settings file of the page, with the paths of this machine. */
    settings: (mark: string): string => here(blockOf('yaml', mark)),
  }
}
