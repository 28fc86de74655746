/** A log destination that keeps what was written, as text and as parsed lines. */
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
