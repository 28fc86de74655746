/** The look of the pages: the operator's name, logo, accent colour and links, as a page contains them. */
import { type AccentColors, accentColors } from '../config/look/accent.ts'
import type { Logo } from '../config/look/logo.ts'
import type { Size } from '../config/look/picture-type.ts'
import { Html, html } from './html.ts'
import { hashSources, ICON } from './inline.ts'

/** What the operator chose; empty for the look of Grantor. */
export type LookValues = {
  name?: string | undefined
  accentColor?: string | undefined
  logo?: Logo | undefined
  helpUrl?: string | undefined
  privacyUrl?: string | undefined
}

export type Look = {
  name: string
  /** the address of the icon of the page */
  icon: string
  /** the picture beside the name */
  mark: Html
  /** an element that replaces the colours of `grantor.css`; empty without an accent colour */
  style: Html
  /** the sources of the style in a Content-Security-Policy */
  styleSources: string
  /** further sources of pictures in that policy: the auth service serves the logos of clients */
  imageSources: string
  /** the same colours for one element of a scheme, for the preview of the console */
  previewStyle: Html
  accentColor: string | undefined
  helpUrl: string | undefined
  privacyUrl: string | undefined
  /** the logo of the operator, for the route that serves it */
  logo: Logo | undefined
}

/** A reply of a server that has a look. Without one, the pages have the look of Grantor. */
export type LookReply = { look?: Look | undefined }

/** The path at which a server serves a logo. */
export const LOGO_PATH = '/logos'

/** CSS pixels. A wide logo is as wide as the name may be on a small phone. */
const MARK = { width: 144, height: 32 }
const ICON_SIDE = 28
const GREEN = '#0f6a52'

export function defineLook({ name, accentColor, logo, helpUrl, privacyUrl }: LookValues): Look {
  const monogram = name === undefined ? ICON : monogramOf(name, accentColor ?? GREEN)
  const icon = logo ? logoAddress(logo.hash) : monogram
  const size = logo ? fitInto(MARK, logo) : { width: ICON_SIDE, height: ICON_SIDE }
  const colors = accentColor === undefined ? null : accentColors(accentColor)
  const style =
    colors === null
      ? ''
      : `:root{${properties(colors.light)}}@media (prefers-color-scheme:dark){:root{${properties(colors.dark)}}}`
  const preview = colors === null ? '' : `.scheme-light{${properties(colors.light)}}.scheme-dark{${properties(colors.dark)}}`
  return {
    name: name ?? 'Grantor',
    icon,
    mark: html`<img src="${icon}" alt="" width="${size.width}" height="${size.height}">`,
    style: styleOf(style),
    styleSources: colors === null ? '' : ` ${hashSources({ style, preview })}`,
    imageSources: '',
    previewStyle: styleOf(preview),
    accentColor,
    helpUrl,
    privacyUrl,
    logo,
  }
}

export const GRANTOR_LOOK: Look = defineLook({})

/** The look with pictures of one more origin. */
export function withPicturesOf(origin: string, look: Look = GRANTOR_LOOK): Look {
  return { ...look, imageSources: ` ${origin}` }
}

function logoAddress(hash: string): string {
  return `${LOGO_PATH}/${hash}`
}

/** The size of a picture in a box, without a change of its proportions. The page reserves this place before the picture is there. */
export function fitInto(box: Size, { width, height }: Size): Size {
  const scale = Math.min(box.width / width, box.height / height)
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
}

function properties({ accent, strong, on, tint }: AccentColors): string {
  return `--accent:${accent};--accent-strong:${strong};--on-accent:${on};--accent-tint:${tint}`
}

function styleOf(text: string): Html {
  return text === '' ? html`` : html`<style>${Html.trusted(text)}</style>`
}

/** The first letter of the name, in place of a logo. */
function monogramOf(name: string, color: string): string {
  const [first] = new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(name)
  const letter = html`${first?.segment.toUpperCase()}`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="${color}"/><text x="16" y="22.5" text-anchor="middle" font-family="system-ui,sans-serif" font-size="18" font-weight="700" fill="#fff">${letter.toString()}</text></svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}
