/** Plain text for a terminal: names with values, tables, times. */

/** `name  value` per line, values aligned. */
export function printFacts(pairs: readonly (readonly [name: string, value: string])[]): string[] {
  const width = Math.max(...pairs.map(([name]) => name.length)) + 2
  return pairs.map(([name, value]) => `  ${name.padEnd(width)}${value}`)
}

/** A table with a line of headings. */
export function columns(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return growingColumns(headings)(rows)
}

/** The same for rows that arrive in pages: each column is as wide as its widest cell so far. */
export function growingColumns(headings: readonly string[]): (rows: readonly (readonly string[])[]) => string[] {
  let ahead = [headings]
  let widths = headings.map(() => 0)
  return (rows) => {
    const lines = [...ahead, ...rows]
    ahead = []
    widths = widths.map((width, column) => Math.max(width, ...lines.map((row) => (row[column] ?? '').length)))
    return lines.map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
  }
}

/** Epoch seconds as UTC, to the second. */
export function time(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** The text with at most so many characters. */
export function shorten(text: string, atMost: number): string {
  return text.length > atMost ? `${text.slice(0, atMost - 3)}...` : text
}

/** `1 grant`, `2 grants`. */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
