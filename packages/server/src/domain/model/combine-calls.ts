/** Combines calls that are made at the same time. */

/**
 * Calls `run` once for all calls until `wait` resolves, which is usually the next iteration of the event loop. `run` returns one result for each
 * input, in the same order. If `wait` rejects, these calls fail, and `run` is not called for them.
 */
export function combineCalls<Input, Result>(
  wait: () => Promise<unknown>,
  run: (inputs: readonly Input[]) => Promise<readonly Result[]>,
): (input: Input) => Promise<Result> {
  let inputs: Input[] = []
  let results: Promise<readonly Result[]> | null = null
  const runAfterWait = async (): Promise<readonly Result[]> => {
    let given: Input[]
    try {
      await wait()
    } finally {
      given = inputs
      ;[inputs, results] = [[], null]
    }
    return run(given)
  }
  return async (input) => {
    const position = inputs.push(input) - 1
    return (await (results ??= runAfterWait()))[position] as Result
  }
}
