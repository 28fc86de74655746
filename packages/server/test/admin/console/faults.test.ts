/** Each fault of a record belongs to a field of its form. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { memberOfFault } from '../../../src/console/record-form.ts'
import { clientMembers } from '../../../src/operations/members/client-members.ts'
import type { RecordMember } from '../../../src/operations/members/member.ts'
import { resourceMembers } from '../../../src/operations/members/resource-members.ts'

/** The beginnings of all sentences in a file, up to their first inserted value. */
function sentencesOf(file: string): string[] {
  const source = readFileSync(new URL(`../../../src/${file}`, import.meta.url), 'utf8')
  const texts = [...source.matchAll(/(['`])([A-Z][^'`\n]* [^'`\n]*)\1/g)].map(([, , text = '']) => text)
  return texts.map((text) => text.replace(/\$\{.*$/, ''))
}

test.for<[string, string, Record<string, RecordMember>]>([
  ['client', 'domain/clients/client-faults.ts', clientMembers],
  ['resource', 'domain/resources/resource-faults.ts', resourceMembers],
])('Each fault of a %s is shown at its field', ([, file, members]) => {
  const sentences = sentencesOf(file)
  expect(sentences.length).toBeGreaterThan(5)
  // The number of entries is counted for each list, whose name follows the number.
  const lost = sentences.filter((sentence) => sentence !== 'A client has at most ')
  expect(lost.filter((sentence) => memberOfFault(Object.values(members), sentence) === undefined)).toEqual([])
})
