/**
 * The operator's accent colour: whether it can be read, and the colours that are derived from it. The contrast is that of WCAG 2.2, "contrast
 * ratio" and "relative luminance". The accent colour is the colour of links, buttons and marks.
 */

/** `#rrggbb`, in lower case. */
export type Hex = string

/** WCAG 2.2, 1.4.3: text. */
export const NEEDED_CONTRAST = 4.5

/** The backgrounds of `grantor.css`, lightest and darkest included. A test compares both. */
export const SURFACES = {
  light: { ground: '#e9eee9', paper: '#ffffff', paperHead: '#f7faf7', paperText: '#eef4f0', ink: '#12201a' },
  dark: { ground: '#0b120f', paper: '#15201b', paperHead: '#18251f', paperText: '#0f1814', ink: '#e7efea' },
} as const

/** The custom properties of `grantor.css` that an accent colour replaces. */
export type AccentColors = { accent: Hex; strong: Hex; on: Hex; tint: Hex }

/** Parts of the other colour, from 0 to 1. */
const STRONG_PART = { light: 0.25, dark: 0.35 }
const TINT_PART = { light: 0.13, dark: 0.2 }

export type Unreadable = { contrast: number; background: Hex; nearest: Hex }

/** Null if the colour can be read on every light background. A colour that can be read there is the colour of buttons with white text, too. */
export function findUnreadable(color: Hex): Unreadable | null {
  const [background, contrast] = lowestContrast(color, 'light')
  return contrast >= NEEDED_CONTRAST ? null : { contrast, background, nearest: readable(color, 'light') }
}

/** The colours of both schemes. In the dark scheme the accent is as much lighter as is needed to be read. */
export function accentColors(color: Hex): Record<'light' | 'dark', AccentColors> {
  const dark = readable(color, 'dark')
  return {
    light: {
      accent: color,
      strong: mixColours(color, '#000000', STRONG_PART.light),
      on: '#ffffff',
      tint: mixColours('#ffffff', color, TINT_PART.light),
    },
    dark: {
      accent: dark,
      strong: mixColours(dark, '#ffffff', STRONG_PART.dark),
      on: SURFACES.dark.ground,
      tint: mixColours(SURFACES.dark.paper, dark, TINT_PART.dark),
    },
  }
}

/** From 1 to 21. */
export function contrastOf(one: Hex, other: Hex): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

/** The first mixture with black (light scheme) or white (dark scheme), in steps of one hundredth, that can be read on every background. */
function readable(color: Hex, scheme: 'light' | 'dark'): Hex {
  for (let hundredths = 0; hundredths < 100; hundredths += 1) {
    const mixed = mixColours(color, scheme === 'light' ? '#000000' : '#ffffff', hundredths / 100)
    if (lowestContrast(mixed, scheme)[1] >= NEEDED_CONTRAST) return mixed
  }
  return scheme === 'light' ? '#000000' : '#ffffff'
}

function lowestContrast(color: Hex, scheme: 'light' | 'dark'): [background: Hex, contrast: number] {
  const { ink: _, ...backgrounds } = SURFACES[scheme]
  const contrasts = Object.values(backgrounds).map((background): [Hex, number] => [background, contrastOf(color, background)])
  return contrasts.reduce((lowest, each) => (each[1] < lowest[1] ? each : lowest))
}

function luminance(color: Hex): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((value) => {
    const part = value / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function mixColours(color: Hex, other: Hex, part: number): Hex {
  const others = channels(other)
  const mixed = channels(color).map((value, i) => Math.round(value * (1 - part) + (others[i] ?? 0) * part))
  return `#${Buffer.from(mixed).toString('hex')}`
}

function channels(color: Hex): number[] {
  return [...Buffer.from(color.slice(1), 'hex')]
}
