/** Builds the OCI image and runs its root file system, read-only, as the user that the image names, in namespaces made by bubblewrap. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const CHECKOUT = join(import.meta.dirname, '../../../..')
const IS_ROOT = process.getuid?.() === 0

type Descriptor = { digest: string }
type Config = {
  config: { User: string; Env: string[]; Entrypoint: string[]; Cmd: string[]; WorkingDir: string; Labels: Record<string, string> }
}

/** Runs `npm run image` with this umask and returns the digest of the manifest. */
export function buildImage(output: string, umask: string): string {
  const script = join(CHECKOUT, 'scripts/build-image.ts')
  const build = spawnSync('sh', ['-c', `umask ${umask}; exec node "$1" --output "$2"`, 'sh', script, output], {
    encoding: 'utf8',
  })
  if (build.status !== 0) throw new Error(build.stderr)
  const { manifests } = readJson(join(output, 'index.json')) as { manifests: [Descriptor] }
  return manifests[0].digest
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** The image in a folder that is removed by `close`. */
export function openImage() {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-image-test-'))
  // the image's user must reach the root file system below
  chmodSync(folder, 0o711)
  const layout = join(folder, 'layout')
  const digest = buildImage(layout, '022')
  const blob = (name: string) => join(layout, 'blobs/sha256', name.slice('sha256:'.length))
  const manifest = readJson(blob(digest)) as { config: Descriptor; layers: Descriptor[] }
  const { config } = readJson(blob(manifest.config.digest)) as Config
  const root = join(folder, 'root')
  mkdirSync(root)
  for (const layer of manifest.layers) {
    const unpacked = spawnSync('tar', ['--extract', '--preserve-permissions', '--directory', root, '--file', blob(layer.digest)])
    if (unpacked.status !== 0) throw new Error(String(unpacked.stderr))
  }
  return { folder, layout, digest, config, root, close: () => rmSync(folder, { recursive: true, force: true }) }
}
export type Image = ReturnType<typeof openImage>

/** Programs in the image that share one data folder and the network of the test. */
export class Container {
  readonly #image: Image
  readonly #data: string
  readonly #uid: number
  readonly #running = new Set<ChildProcess>()

  constructor(image: Image) {
    this.#image = image
    this.#uid = Number(image.config.User.split(':')[0])
    this.#data = mkdtempSync(join(image.folder, 'data-'))
    if (IS_ROOT) chownSync(this.#data, this.#uid, this.#uid)
  }

  #spawn(command: readonly string[], env: Record<string, string>, isolation: readonly string[] = []): ChildProcess {
    const { config, root } = this.#image
    const settings = { ...Object.fromEntries(config.Env.map((pair) => pair.split(/=(.*)/s, 2) as [string, string])), ...env }
    const id = String(this.#uid)
    const options = [
      `--uid ${id} --gid ${id} --unshare-user --unshare-pid --unshare-ipc --unshare-uts --cap-drop ALL --die-with-parent --clearenv`,
      `--ro-bind ${root} / --proc /proc --dev /dev --bind ${this.#data} /var/lib/grantor --chdir ${config.WorkingDir}`,
    ]
    const variables = Object.entries(settings).flatMap(([name, value]) => ['--setenv', name, value])
    const args = [...options.flatMap((line) => line.split(' ')), ...variables, ...isolation, ...command]
    const child = spawn('bwrap', args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(IS_ROOT ? { uid: this.#uid, gid: this.#uid } : {}),
    })
    this.#running.add(child)
    return child
  }

  /** Runs the image's entry point with these arguments to its end. */
  async run(args: readonly string[], env: Record<string, string>) {
    return this.node([...this.#image.config.Entrypoint.slice(1), ...args], env)
  }

  /** Runs the image's Node. */
  async node(args: readonly string[], env: Record<string, string> = {}, isolation: readonly string[] = []) {
    const child = this.#spawn([this.#image.config.Entrypoint[0] ?? '', ...args], env, isolation)
    const output = { out: '', err: '' }
    child.stdout?.on('data', (chunk: Buffer) => (output.out += chunk.toString()))
    child.stderr?.on('data', (chunk: Buffer) => (output.err += chunk.toString()))
    const [exit] = (await once(child, 'close')) as [number | null]
    return { exit, ...output }
  }

  /** Starts the image with these arguments, or with its own `Cmd`, and returns when the program has logged that it is ready. */
  async start(args: readonly string[] | undefined, env: Record<string, string>) {
    const child = this.#spawn([...this.#image.config.Entrypoint, ...(args ?? this.#image.config.Cmd)], env)
    let log = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (log += chunk.toString()))
    const exited = once(child, 'exit') as Promise<[number | null]>
    while (!log.includes(' is ready"')) {
      if (child.exitCode !== null) throw new Error(log)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return {
      /** Sends SIGTERM to the program itself and returns its exit code. */
      stop: async (): Promise<number | null> => {
        process.kill(childOf(childOf(child.pid ?? 0)), 'SIGTERM')
        return (await exited)[0]
      },
    }
  }

  close(): void {
    for (const child of this.#running) child.kill('SIGKILL')
  }
}

/** Bubblewrap has one child, the first process of the new namespace. Its first child is the program. */
function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0])
}
