import { spawnSync } from 'node:child_process'

/** The tests that need programs that npm does not install; `npm run test:packages` sets this. */
export const ASKED = Boolean(process.env.TEST_PACKAGES)

/** Which of these programs are not on the PATH. */
export function missing(...programs: string[]): string {
  return programs.filter((program) => spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program]).status !== 0).join(', ')
}
