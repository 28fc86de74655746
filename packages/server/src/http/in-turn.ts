/**
 * Runs the tasks of one key one after the other, in one process. A limit that counts failures after they happened then stops the next
 * task of the key, also if many arrive at the same moment. Only keys with tasks under way are in memory.
 */
export type InTurn = <Result>(key: string, run: () => Promise<Result>) => Promise<Result>

export function createInTurn(): InTurn {
  const last = new Map<string, Promise<unknown>>()
  return (key, run) => {
    const task = (last.get(key) ?? Promise.resolve()).then(run, run)
    last.set(key, task)
    const forget = (): void => {
      if (last.get(key) === task) last.delete(key)
    }
    task.then(forget, forget)
    return task
  }
}
