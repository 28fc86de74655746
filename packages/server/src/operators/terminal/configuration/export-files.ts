/** Several files in a new folder, each of which `grantor apply` reads: none has more entries or characters than one file may have. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { planSections, type SectionName } from '../../configuration/plan.ts'
import type { Members } from '../../members/member.ts'
import { UsageError } from '../command.ts'
import { type ConfigurationText, createConfigurationText, type Format } from './configuration-text.ts'
import { FILE_AT_MOST } from './read-configuration.ts'

/** In characters: a longer file is not continued. An entry with the longest lists and the largest logo has fewer than are left then. */
const FULL_AT = FILE_AT_MOST / 2

/** `names` are those of the files, in the order in which they must be applied. */
export function createExportFiles(folder: string, format: Format): ConfigurationText & { names: readonly string[] } {
  try {
    mkdirSync(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'EEXIST' ? 'exists already' : `cannot be created (${code ?? 'unknown error'})`
    throw new UsageError(`--folder: ${JSON.stringify(folder)} ${why}`)
  }
  const names: string[] = []
  let file = openFile()
  function openFile() {
    const name = `grantor-${String(names.length + 1).padStart(4, '0')}.${format}`
    names.push(name)
    const descriptor = openSync(join(folder, name), 'wx')
    const file = { descriptor, characters: 0, entries: 0, text: {} as ConfigurationText }
    file.text = createConfigurationText(format, (lines) => {
      file.characters += lines.length + 1
      writeSync(descriptor, `${lines}\n`)
    })
    return file
  }
  function endFile(): void {
    file.text.end()
    closeSync(file.descriptor)
  }
  return {
    names,
    add(name: SectionName, entries: readonly Members[]) {
      if (entries.length === 0) file.text.add(name, [])
      for (const entry of entries) {
        if (file.entries === planSections.clients.atMost || file.characters > FULL_AT) {
          endFile()
          file = openFile()
        }
        file.entries += 1
        file.text.add(name, [entry])
      }
    },
    end: endFile,
  }
}
