/**
 * Builds the script of `@grantor/walletconnect`: one file for the browser, with the pinned client library inside, and the licences of everything in
 * the file. The package has no dependencies.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

type Manifest = { name: string; version: string; license?: string; author?: string | { name?: string } }

const checkout = join(import.meta.dirname, '../..')
const sources = join(checkout, 'packages/walletconnect/src')

/**
 * What may be in the script. From 2.21.9 on, the client library is under the WalletConnect Community License: it forbids any other relay
 * than the one of its owner, and requires a commercial licence above 500 users a month (docs/decisions/0011-login-page.md).
 */
const LICENCES = ['MIT', 'ISC', '0BSD', 'Apache-2.0', 'Apache-2.0 AND MIT', 'MIT OR Apache-2.0']

export type WalletConnectBuild = {
  /** One module for browsers that exports `createWallet`. */
  script: string
  /** The notices that the licences require with every copy. */
  licences: string
  /** The packages in the script, with their versions. */
  contents: { name: string; version: string; license: string }[]
}

export async function buildWalletConnect(): Promise<WalletConnectBuild> {
  const build = await rolldown({
    input: join(sources, 'client.ts'),
    platform: 'browser',
    resolve: { alias: { '@walletconnect/keyvaluestorage': join(sources, 'memory-storage.ts') } },
    logLevel: 'silent',
  })
  const { output } = await build.generate({ format: 'es', minify: true, codeSplitting: false })
  await build.close()
  const [chunk] = output
  const used = Object.entries(chunk.modules).filter(([, { renderedLength }]) => renderedLength > 0)
  const folders = new Set(used.flatMap(([file]) => packageFolderOf(file) ?? []))
  const packages = [...folders].toSorted().map(readPackage)
  const contents = packages.map(({ name, version, license }) => ({ name, version, license }))
  return { script: chunk.code, licences: packages.map(({ notice }) => notice).join('\n\n'), contents }
}

/** The innermost package that has the file; undefined for our own files. */
function packageFolderOf(file: string): string | undefined {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]
}

function readPackage(folder: string): WalletConnectBuild['contents'][number] & { notice: string } {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const { name, version } = manifest
  const license = (manifest.license ?? 'none').replace(/^\((.*)\)$/, '$1')
  if (!LICENCES.includes(license)) throw new Error(`${name} ${version} is under ${license}, which the package may not contain`)
  const files = globSync('{LICENSE,LICENCE,license,CopyrightNotice,NOTICE}*', { cwd: folder }).toSorted()
  const texts = files.length > 0 ? files.map((file) => readFileSync(join(folder, file), 'utf8').trim()) : [writtenFor(manifest)]
  return { name, version, license, notice: [`== ${name} ${version} (${license})`, ...texts].join('\n\n') }
}

/** One package states its licence and its author in package.json only. */
function writtenFor({ name, author }: Manifest): string {
  const holder = typeof author === 'string' ? author : author?.name
  if (name !== 'uint8arrays' || holder === undefined) throw new Error(`${name} has no licence file`)
  const text = readFileSync(join(checkout, 'node_modules/@walletconnect/time/LICENSE'), 'utf8')
  return text.replace(/^Copyright.*$/m, `Copyright (c) ${holder}`).trim()
}

/** Writes the script and the licences into `folder`. */
export async function writeWalletConnect(folder: string): Promise<void> {
  const { script, licences } = await buildWalletConnect()
  writeFileSync(join(folder, 'walletconnect.js'), script)
  writeFileSync(join(folder, 'LICENSES.txt'), `The script walletconnect.js contains these packages.\n\n${licences}\n`)
}

if (import.meta.main) await writeWalletConnect(import.meta.dirname)
