/** `grantor start`, and a shell and a browser on the same machine, in which the blocks of a page are pasted one after another. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { BIN, launch, type Running } from '../app/run.ts'
import { sixInARow } from '../support/free-ports.ts'
import { OWN_ENVIRONMENT } from '../support/own-environment.ts'
import { Visitor } from './visitor.ts'

/** The first test account of the development wallet. */
export const TEST_ACCOUNT = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

const ROOT = join(import.meta.dirname, '../../../..')

export class Development {
  readonly port: number
  /** what the page's commands write into the folder of the project */
  readonly folder: string
  readonly #service: Running
  readonly #shell: ChildProcess
  #output = ''

  private constructor(port: number, folder: string, service: Running) {
    this.port = port
    this.folder = folder
    this.#service = service
    const env = { ...OWN_ENVIRONMENT, PATH: `${dirname(process.execPath)}:${OWN_ENVIRONMENT.PATH}` }
    this.#shell = spawn('bash', [], { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] })
    const keep = (text: Buffer) => void (this.#output += text.toString())
    this.#shell.stdout?.on('data', keep)
    this.#shell.stderr?.on('data', keep)
    // npx would look for the program, grantor or node, in the folder of the project.
    const node = `"${process.execPath}"`
    this.#shell.stdin?.write(`npx() { [ "$1" = node ] || set -- node "${BIN}" "\${@:2}"; shift; ${node} "$@"; }\n`)
  }

  static async start(): Promise<Development> {
    const port = await sixInARow()
    const folder = mkdtempSync(join(tmpdir(), 'grantor-page-'))
    const service = launch(['start', '--ports', String(port), '--data', join(folder, 'data')])
    await service.printed('Ctrl-C stops everything')
    return new Development(port, folder, service)
  }

  get issuer(): string {
    return `http://localhost:${this.port}`
  }

  /** What the service printed when it started. */
  get banner(): string {
    return this.#service.out()
  }

  /** Pastes a block, and resolves with what its commands print when they have ended. */
  async paste(block: string): Promise<string> {
    this.#output = ''
    const end = `end of block ${Math.random()}`
    const local = block
      .replaceAll(/localhost:400([0-5])/g, (_, digit: string) => `localhost:${this.port + Number(digit)}`)
      .replaceAll('node packages/', `node ${ROOT}/packages/`)
    this.#shell.stdin?.write(`${local}\necho "${end}"\n`)
    while (!this.#output.includes(`${end}\n`)) {
      if (this.#shell.exitCode !== null) throw new Error(`the shell ended: ${this.#output}`)
      await pause(10)
    }
    return this.#output.replace(`${end}\n`, '').trim()
  }

  /** What the block that was pasted last has printed so far. */
  printed(): string {
    return this.#output
  }

  /** The value of a variable of the shell. */
  variable(name: string): Promise<string> {
    return this.paste(`echo "$${name}"`)
  }

  /** Resolves when the service has read all earlier changes: it refuses a client that it accepted before and that is disabled now. */
  async noticeChanges(): Promise<void> {
    const created = await this.paste(
      'npx grantor clients create --data ./data --name Last --redirect-uri https://last.example/cb --json',
    )
    const { client_id, client_secret } = JSON.parse(created) as Record<string, string>
    const authorization = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`
    const body = new URLSearchParams({ token: 'x' })
    const status = async () =>
      (await fetch(`${this.issuer}/oauth/introspect`, { method: 'POST', headers: { authorization }, body })).status
    if ((await status()) !== 200) throw new Error('the service does not accept a new client')
    await this.paste(`npx grantor clients disable ${client_id} --data ./data`)
    while ((await status()) === 200) await pause(50)
  }

  /** Sends a new browser to an authorization request, signs in with a test account, and resolves with the URL of the response. */
  async signIn(to: URL): Promise<URL> {
    const browser = new Visitor()
    const body = await this.#prove(browser, (await browser.visit(to.href)).to)
    return new URL(targetOf(body))
  }

  /** Opens the page for a device in a new browser, allows the access, and signs with a test account. */
  async allowDevice(verificationUri: string): Promise<void> {
    const browser = new Visitor()
    const page = await browser.visit(verificationUri)
    const [, request = ''] = /name="request" value="([^"]+)"/.exec(page.body) ?? []
    const allowed = await browser.visit(`${this.issuer}/device`, { request, decision: 'allow' })
    await this.#prove(browser, targetOf(allowed.body))
  }

  /** Opens the page of an approval in a new browser, signs with a test account, and resolves with the last page. */
  async signAction(approvalUri: string): Promise<string> {
    const browser = new Visitor()
    await browser.visit(approvalUri)
    const moved = await browser.visit(approvalUri, { decision: 'sign' })
    return this.#prove(browser, targetOf(moved.body))
  }

  /** The page to which the browser comes after the signature. */
  async #prove(browser: Visitor, loginUrl: string): Promise<string> {
    const { origin, searchParams } = new URL(loginUrl)
    const signed = await fetch(`${origin}/login/development-wallet`, {
      method: 'POST',
      headers: { accept: 'application/json' },
      body: new URLSearchParams({
        login_challenge: searchParams.get('login_challenge') ?? '',
        address: TEST_ACCOUNT,
      }),
    })
    const { redirect_to } = (await signed.json()) as { redirect_to: string }
    return (await browser.visit(redirect_to)).body
  }

  async stop(): Promise<void> {
    this.#shell.kill()
    const ended = this.#service.ended()
    this.#service.child.kill('SIGTERM')
    await ended
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** The URL to which a page redirects. */
function targetOf(body: string): string {
  return (/;url=([^"]+)"/.exec(body)?.[1] ?? '').replaceAll('&amp;', '&')
}
