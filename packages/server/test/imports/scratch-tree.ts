/** Lints a temporary tree of files with the rules of the project. The files of the tests break these rules. */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../../../..')

/** The rules that each file breaks, such as `eslint(no-restricted-imports)`. A file that breaks no rule has an empty list. */
export type Refusals = Map<string, string[]>

/** Writes `files` (path → content) to a temporary folder, lints the folder once with the project's configuration, and deletes it. */
export async function lintScratchTree(files: Record<string, string>): Promise<Refusals> {
  const root = await mkdtemp(join(tmpdir(), 'grantor-imports-'))
  try {
    await copyFile(join(ROOT, '.oxlintrc.json'), join(root, '.oxlintrc.json'))
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true })
      await writeFile(join(root, path), content)
    }
    return byFile(files, await runOxlint(root))
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}

type Diagnostic = { code: string; filename: string }

function runOxlint(folder: string): Promise<Diagnostic[]> {
  const oxlint = join(ROOT, 'node_modules/oxlint/bin/oxlint')
  return new Promise((resolve, reject) => {
    // oxlint exits with 1 if a file breaks a rule, so the exit code is ignored. A run without a report is an error.
    execFile(process.execPath, [oxlint, '--format=json'], { cwd: folder, maxBuffer: 64 << 20 }, (_error, stdout, stderr) => {
      try {
        resolve((JSON.parse(stdout) as { diagnostics: Diagnostic[] }).diagnostics)
      } catch {
        reject(new Error(`oxlint gave no report: ${stdout}${stderr}`))
      }
    })
  })
}

function byFile(files: Record<string, string>, diagnostics: Diagnostic[]): Refusals {
  const refusals: Refusals = new Map(Object.keys(files).map((path) => [path, []]))
  for (const { filename, code } of diagnostics) refusals.get(filename)?.push(code)
  return refusals
}
