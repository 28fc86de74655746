/** The memory of what lives for one request. */
import { setFlagsFromString } from 'node:v8'

/**
 * Lets the heap's young generation stay as large as loading the program has made it, 16 MB, to be called once everything
 * is loaded. V8 would let it grow to 64 or 128 MB as soon as there is load, for a few per cent of speed; `NODE_OPTIONS`
 * with `--max-semi-space-size` still decides how large it gets before.
 */
export function keepYoungGenerationSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}
