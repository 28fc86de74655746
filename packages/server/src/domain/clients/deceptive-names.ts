/**
 * Names of registered clients that could deceive users. An operator decides, so such a name is not refused. An unregistered client is refused for
 * some of these reasons (`client-name.ts`).
 */
import { mixesAlphabets } from '../../protocol/oauth/visible-text.ts'

type Named = { id: string; name: string }
type NamedRow = Named & { skeleton: string }

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

/** One sentence each. `others`: the registered clients, if there are not too many to compare. */
export function nameWarnings({ id, name }: Named, platform: string, others: Iterable<NamedRow>): string[] {
  const skeleton = skeletonOf(name)
  const ofPlatform = skeletonOf(platform)
  const warnings: string[] = []
  if (name.split(/\s+/u).some(mixesAlphabets))
    warnings.push('A word of the name has letters of several alphabets, so the name can look like another one.')
  if (ofPlatform.length >= PLATFORM_AT_LEAST && skeleton.includes(ofPlatform))
    warnings.push(`The name looks like that of the platform, ${platform}.`)
  for (const other of others) {
    if (skeleton === '' || other.skeleton !== skeleton || other.id === id) continue
    warnings.push(`The name looks like that of the client ${other.name} (${other.id}).`)
    break
  }
  return warnings
}
