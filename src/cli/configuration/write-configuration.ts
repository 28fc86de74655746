/** Writes a configuration as `readConfiguration` reads it. */
import { stringify } from 'yaml'
import type { Members } from '../../operations/members/member.ts'

const HEAD = `# Written by grantor export. grantor apply reads it. It contains no secrets.
`

export function writeConfiguration(sections: Readonly<Record<string, readonly Members[]>>, format: 'yaml' | 'json'): string {
  if (format === 'json') return `${JSON.stringify(sections, null, 2)}\n`
  return HEAD + stringify(sections, { version: '1.2', schema: 'core', lineWidth: 0, aliasDuplicateObjects: false })
}
