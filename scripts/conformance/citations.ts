/** Finds the sections of standards that the comments of a file name. */

/**
 * An RFC, an OpenID Connect specification by its full or short name, another specification, a section: `§4.1.2`, `appendix B`, or a proposal
 * of ENS or Ethereum: `ENSIP-3`, `ERC-4361`. Proposals have no numbered sections, so each proposal counts as a section of ENS or of ERC.
 */
const NAMED =
  /RFC (\d{4,5})|(?:OpenID Connect )?\b(Core|Discovery|RP-Initiated Logout|Back-Channel Logout)\b|\b(FAPI 2\.0 (?:Message Signing|Security Profile)|JARM|OAuth 2\.0 Form Post Response Mode|Client ID Metadata Document)\b|(?:§|appendix )([\dA-Z](?:[\d.]*\d)?)|(ENSIP|ERC)-(\d+)/g

/** `section` includes the standard: `RFC 6749 §4.1.2`. Lines count from 1. */
type Citation = { section: string; line: number }
type Comment = { text: string; line: number }

/** Each section that a comment names, as `RFC 6749 §4.1.2`. */
export function citationsIn(source: string, language: 'code' | 'prose' = 'code'): Set<string> {
  return new Set(
    everyCitation(source, language)
      .flat()
      .map(({ section }) => section),
  )
}

/**
 * The line of the comment that names a section. The opening comment lists what the whole file is about, so a comment
 * beside the code is preferred.
 */
export function lineOfCitation(source: string, section: string): number | undefined {
  const [opening = [], ...others] = everyCitation(source, 'code')
  return [...others.flat(), ...opening].find((citation) => citation.section === section)?.line
}

/**
 * The citations of each comment. A section belongs to the standard named before it in the same comment. If the comment
 * names no standard, the section belongs to those that the opening comment names.
 */
function everyCitation(source: string, language: 'code' | 'prose'): Citation[][] {
  const comments = language === 'prose' ? [{ text: source, line: 1 }] : commentsOf(source)
  const ofTheFile = standardsIn(comments[0]?.text ?? '')
  return comments.map((comment) => citationsOf(comment, ofTheFile))
}

function citationsOf({ text, line }: Comment, ofTheFile: readonly string[]): Citation[] {
  let standards = ofTheFile
  return [...text.matchAll(NAMED)].flatMap((match) => {
    const [, , , , section, series, proposal] = match
    const at = line + newlinesIn(text.slice(0, match.index))
    if (proposal !== undefined) return [{ section: `${series === 'ERC' ? 'ERC' : 'ENS'} §${proposal}`, line: at }]
    if (section !== undefined) {
      return standards.map((standard) => ({ section: `${standard} §${section}`, line: at }))
    }
    standards = [standardOf(match)]
    return []
  })
}

function standardsIn(comment: string): string[] {
  return [...comment.matchAll(NAMED)].filter(([, , , , section, series]) => (section ?? series) === undefined).map(standardOf)
}

function standardOf([, rfc, openid, other]: RegExpMatchArray): string {
  if (other !== undefined) return other
  return rfc === undefined ? `OpenID Connect ${openid}` : `RFC ${rfc}`
}

/** Blocks, and runs of line comments. A run is one comment. A `//` inside a URL starts no comment. */
function commentsOf(source: string): Comment[] {
  return [...source.matchAll(/\/\*[^]*?\*\/|(?:(?:^|(?<=\s))\/\/.*(?:\n[ \t]*(?=\/\/))?)+/gm)].map((comment) => ({
    text: comment[0],
    line: 1 + newlinesIn(source.slice(0, comment.index)),
  }))
}

function newlinesIn(text: string): number {
  return text.split('\n').length - 1
}
