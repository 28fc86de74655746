/**
 * Names of clients and resources that could deceive users. An operator decides, so such a name is not refused. An unregistered client is refused
 * for some of these reasons (`client-name.ts`).
 */
import { mixesAlphabets } from '../../protocol/oauth/visible-text.ts'

type Named = { id: string; name: string }
export type NamedRow = Named & { skeleton: string }

/** Letters that look like Latin letters, each above its Latin letter. Only the most usual ones (Unicode UTS 39 lists thousands). */
const ALIKE = [
  ['АВЕКМНОРСТУХІЈЅаеорсухіјѕкмтвнгԁԛԝһӏ', 'ABEKMHOPCTYXIJSaeopcyxijskmtbhrdqwhl'],
  ['ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβγεηικνορτυχω', 'ABEZHIKMNOPTYXabyenikvoptuxw'],
  ['օսհոıɑɡłøđ', 'ouhniaglod'],
] as const

const LATIN_OF = new Map(
  ALIKE.flatMap(([letters, latin]) => Array.from(letters, (letter, at) => [letter, latin[at] ?? ''] as const)),
)

/** Two names with the same skeleton look alike: without case, accents, spaces and signs, and with one letter for those that look alike. */
export function skeletonOf(name: string): string {
  const letters = [...name.normalize('NFKD')].map((letter) => LATIN_OF.get(letter) ?? letter).join('')
  return letters
    .toLowerCase()
    .replace(/[i1|]/g, 'l')
    .replaceAll('0', 'o')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
}

/** A shorter name of a platform is a part of too many words. */
const PLATFORM_AT_LEAST = 4

export function namedRow({ id, name }: Named): NamedRow {
  return { id, name, skeleton: skeletonOf(name) }
}

/** The names that records have after a plan, by id. They take the place of the stored names. */
export type PlannedNames = ReadonlyMap<string, NamedRow>

type Compared = {
  /** the name of the platform */
  platform: string
  /** the registered clients, if there are not too many to compare, or the registered resources */
  others: Iterable<NamedRow>
  planned?: PlannedNames
  /** what `others` are; clients unless given */
  noun?: 'client' | 'resource'
}

/** One sentence each. */
export function nameWarnings(
  { id, name }: Named,
  { platform, others, planned = new Map(), noun = 'client' }: Compared,
): string[] {
  const skeleton = skeletonOf(name)
  const ofPlatform = skeletonOf(platform)
  const warnings: string[] = []
  if (name.split(/\s+/u).some(mixesAlphabets))
    warnings.push('A word of the name has letters of several alphabets, so the name can look like another one.')
  if (ofPlatform.length >= PLATFORM_AT_LEAST && skeleton.includes(ofPlatform))
    warnings.push(`The name looks like that of the platform, ${platform}.`)
  if (skeleton === '') return warnings
  const isAlike = (other: NamedRow): boolean => other.skeleton === skeleton && other.id !== id
  const alike = find(planned.values(), isAlike) ?? find(others, (other) => isAlike(other) && !planned.has(other.id))
  if (alike) warnings.push(`The name looks like that of the ${noun} ${alike.name} (${alike.id}).`)
  return warnings
}

function find(rows: Iterable<NamedRow>, isWanted: (row: NamedRow) => boolean): NamedRow | undefined {
  for (const row of rows) if (isWanted(row)) return row
  return undefined
}
