/** Options of the JavaScript engine that a running process can set. `packages/server/bin/grantor.js` sets those that only a new process can. */
import { setFlagsFromString } from 'node:v8'

/**
 * Limits the garbage and the code that V8 keeps. To be called before requests are handled. `npm run bench` measures the gain
 * (docs/evidence/performance.md).
 */
export function limitGarbage(): void {
  // By default, optimised code allocates objects in the old generation directly if objects of the same place in the code survived for long
  // when the code was new, for example because many requests waited for a commit. Later such objects live for a few milliseconds, and in the
  // old generation they are garbage until the whole heap is collected. A process in that state held 209 MiB instead of 143, and a
  // refresh took 109 µs of processor time instead of 97.
  setFlagsFromString('--no-allocation-site-pretenuring')
  // The whole heap is collected when the old generation has grown by half. By default, V8 lets it grow to up to four times its size. A service has
  // few objects that live long, so this saves 16 MiB and costs two or three more collections a minute under full load. With 30 %,
  // a refresh took 4 % more processor time.
  setFlagsFromString('--heap-growing-percent=50')
  // V8 skips its first compiler, whose code is fast to make and large. Functions that run often get optimised code all the same. Under mixed load, the
  // process held 147 to 157 MiB instead of 158 to 164. A refresh took 1 % more processor time.
  setFlagsFromString('--no-sparkplug')
}
