/** A log destination that returns the written lines, as text and parsed. */
export function capturedLog() {
  let text = ''
  return {
    destination: {
      write(line: string) {
        text += line
      },
    },
    text: () => text,
    lines: () =>
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, any>),
  }
}
