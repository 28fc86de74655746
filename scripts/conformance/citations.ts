/** Which sections of which standards the comments of a file name. */

/** `RFC 6749`, one of OpenID Connect's by its full or short name, another one by its name, or a section: `§4.1.2`, `appendix B`. */
const NAMED =
  /RFC (\d{4,5})|(?:OpenID Connect )?\b(Core|Discovery|RP-Initiated Logout|Back-Channel Logout)\b|\b(FAPI 2\.0 (?:Message Signing|Security Profile)|JARM|OAuth 2\.0 Form Post Response Mode)\b|(?:§|appendix )([\dA-Z](?:[\d.]*\d)?)/g

/**
 * As `RFC 6749 §4.1.2`. A section belongs to the standard named before it in the same comment; where none is, to those
 * that the file's first comment names, which says what the file is for.
 */
export function citationsIn(source: string, language: 'code' | 'prose' = 'code'): Set<string> {
  const comments = language === 'prose' ? [source] : commentsOf(source)
  const ofTheFile = standardsIn(comments[0] ?? '')
  return new Set(comments.flatMap((comment) => citationsOf(comment, ofTheFile)))
}

function citationsOf(comment: string, ofTheFile: readonly string[]): string[] {
  let standards = ofTheFile
  return [...comment.matchAll(NAMED)].flatMap((match) => {
    const [, , , , section] = match
    if (section !== undefined) return standards.map((standard) => `${standard} §${section}`)
    standards = [standardOf(match)]
    return []
  })
}

function standardsIn(comment: string): string[] {
  return [...comment.matchAll(NAMED)].filter(([, , , , section]) => section === undefined).map(standardOf)
}

function standardOf([, rfc, openid, other]: RegExpMatchArray): string {
  if (other !== undefined) return other
  return rfc === undefined ? `OpenID Connect ${openid}` : `RFC ${rfc}`
}

/** Blocks, and runs of line comments, each as one. A `//` inside of a URL begins none. */
function commentsOf(source: string): string[] {
  return [...source.matchAll(/\/\*[^]*?\*\/|(?:(?:^|(?<=\s))\/\/.*(?:\n[ \t]*(?=\/\/))?)+/gm)].map(([comment]) => comment)
}
