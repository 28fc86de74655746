/** The text of a configuration, as YAML or JSON, made page by page. The text is that of the whole configuration in one call. */
import { stringify } from 'yaml'
import type { SectionName } from '../../configuration/plan.ts'
import type { Members } from '../../members/member.ts'

export type Format = 'yaml' | 'json'

const HEAD = '# Written by grantor export. grantor apply reads it. It contains no secrets.'

export type ConfigurationText = {
  /** further entries of a section; without entries, the section begins */
  add(name: SectionName, entries: readonly Members[]): void
  end(): void
}

/** `print` writes lines. */
export function createConfigurationText(format: Format, print: (lines: string) => void): ConfigurationText {
  return format === 'json' ? jsonText(print) : yamlText(print)
}

function yamlText(print: (lines: string) => void): ConfigurationText {
  let section: { name: SectionName; isEmpty: boolean } | null = null
  const endSection = (): void => {
    if (section?.isEmpty) print(`${section.name}: []`)
  }
  print(HEAD)
  return {
    add(name, entries) {
      if (section?.name !== name) {
        endSection()
        section = { name, isEmpty: true }
      }
      if (entries.length === 0) return
      const [title = '', ...lines] = yamlOf({ [name]: entries })
        .trimEnd()
        .split('\n')
      if (section.isEmpty) print(title)
      section.isEmpty = false
      print(lines.join('\n'))
    },
    end: endSection,
  }
}

function yamlOf(value: object): string {
  return stringify(value, { version: '1.2', schema: 'core', lineWidth: 0, aliasDuplicateObjects: false })
}

function jsonText(print: (lines: string) => void): ConfigurationText {
  let section: { name: SectionName; isEmpty: boolean } | null = null
  // The last lines, which are printed with a comma if a further value follows.
  let held = '{'
  const hold = (lines: string, separator: '' | ','): void => {
    print(held + separator)
    held = lines
  }
  const endSection = (): void => {
    if (section?.isEmpty) held += ' []'
    else if (section) hold('  ]', '')
  }
  return {
    add(name, entries) {
      if (section?.name !== name) {
        endSection()
        hold(`  "${name}":`, section === null ? '' : ',')
        section = { name, isEmpty: true }
      }
      if (entries.length === 0) return
      if (section.isEmpty) held += ' ['
      const lines = JSON.stringify(entries, null, 2).split('\n').slice(1, -1)
      hold(lines.map((line) => `  ${line}`).join('\n'), section.isEmpty ? '' : ',')
      section.isEmpty = false
    },
    end() {
      endSection()
      hold('}', '')
      print(held)
    },
  }
}
