/** Records which files a process loads. */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `env` is for the process. `read` returns the URLs of the loaded files that contain one of `names`, one line each. */
export function recordLoadedFiles(folder: string, names: readonly string[]) {
  const file = join(folder, randomUUID())
  const code = [
    "import{registerHooks}from'node:module';import{appendFileSync}from'node:fs';",
    `registerHooks({load(url,context,next){if(url.startsWith('file:')&&${JSON.stringify(names)}.some((name)=>url.includes(name)))`,
    "appendFileSync(process.env.TEST_LOADED,url+'\\n');return/**/next(url,context)}})",
  ].join('')
  return {
    env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}`, TEST_LOADED: file },
    read: () => (existsSync(file) ? readFileSync(file, 'utf8') : ''),
  }
}
