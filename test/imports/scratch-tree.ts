/** A small tree beside the real one, linted with the real rules. The tests break the rules in this tree. */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

/** The rules each file breaks, such as `eslint(no-restricted-imports)`; a lawful file has none. */
export type Refusals = Map<string, string[]>

/** Lays out `files` (path → content) in a temporary folder, lints it once with the project's own configuration, and removes it. */
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
    // Refusals make oxlint exit with 1, so its report counts and not its exit code; no report is a failure of the run
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
