/** The mark of Grantor as the path of an SVG picture of 32 by 32, drawn with a line of 3.2. */
export const MARK = 'M22.2 11.2A8 8 0 1 0 24 16h-7'
