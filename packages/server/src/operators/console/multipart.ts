/**
 * Forms with a file (RFC 7578), as a browser sends them. Only as much is read as the forms of the console need: texts, and pictures, which
 * become data URIs. The length of the body is limited before.
 */
import type { Form, FormValue } from '../../protocol/oauth/form.ts'

const BLANK_LINE = Buffer.from('\r\n\r\n')
const PARTS_AT_MOST = 100

type FormParts = Map<string, FormValue[]>

/** Null if the body is not such a form. */
export function parseMultipart(body: Buffer, contentType: string): Form | null {
  const [, quoted, plain] = /;\s*boundary=(?:"([\w'()+,./:=? -]{1,70})"|([\w'+.-]{1,70}))\s*$/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) return null
  const form: FormParts = new Map()
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  // The first delimiter has no line before it.
  const whole = Buffer.concat([Buffer.from('\r\n'), body])
  let at = whole.indexOf(delimiter)
  for (let parts = 0; at >= 0 && parts < PARTS_AT_MOST; parts += 1) {
    const begin = at + delimiter.length
    if (whole.toString('latin1', begin, begin + 2) === '--') return form
    const end = whole.indexOf(delimiter, begin)
    if (end < 0 || !addPart(form, whole.subarray(begin, end))) return null
    at = end
  }
  return null
}

function addPart(form: FormParts, part: Buffer): boolean {
  const blank = part.indexOf(BLANK_LINE)
  if (part.toString('latin1', 0, 2) !== '\r\n' || blank < 0) return false
  const head = part.toString('utf8', 0, blank)
  const [, name] = /^content-disposition: form-data; name="([\w-]{1,60})"/im.exec(head) ?? []
  if (name === undefined) return false
  const content = part.subarray(blank + BLANK_LINE.length)
  const text = head.includes('; filename=') ? pictureText(content) : content.toString('utf8')
  form.set(name, [...(form.get(name) ?? []), { text, encoded: encodeURIComponent(text) }])
  return true
}

/** The check of the logo finds the type itself. A field without a chosen file is empty. */
function pictureText(content: Buffer): string {
  return content.length === 0 ? '' : `data:image/png;base64,${content.toString('base64')}`
}
