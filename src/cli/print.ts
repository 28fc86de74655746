/** Plain text for a terminal: names with values, tables, times. */

/** `name  value` per line, values aligned. */
export function facts(pairs: readonly (readonly [name: string, value: string])[]): string[] {
  const width = Math.max(...pairs.map(([name]) => name.length)) + 2
  return pairs.map(([name, value]) => `  ${name.padEnd(width)}${value}`)
}

/** A table with a line of headings. */
export function columns(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = headings.map((heading, column) => Math.max(heading.length, ...rows.map((row) => (row[column] ?? '').length)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return [headings, ...rows].map(line)
}

/** Epoch seconds as UTC, to the second. */
export function time(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** `1 grant`, `2 grants`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
