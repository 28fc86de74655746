/** A store whose calls have spans, with the name of the method and without its arguments. */
import type { Tracing } from '../metrics/tracing.ts'

type Method = (...given: unknown[]) => unknown

/** `system` is the value of `db.system.name`. Calls outside of a traced request have no span. */
export function traceStore<Store extends object>(store: Store, tracing: Tracing, system: string): Store {
  const traced = (name: string, method: Method, owner: object): Method =>
    function tracedCall(...given) {
      if (!tracing.isTraced()) return method.apply(owner, given)
      const facts = { 'db.system.name': system, 'db.operation.name': name }
      return tracing.trace(`store ${name}`, facts, async () => method.apply(owner, given))
    }
  const members = Object.entries(store).map(([name, member]: [string, unknown]) => {
    if (NOT_TRACED.includes(name)) return [name, member]
    if (typeof member === 'function') return [name, traced(name, member as Method, store)]
    if (typeof member !== 'object' || member === null) return [name, member]
    const methods = Object.entries(member as Record<string, Method>)
    return [name, Object.fromEntries(methods.map(([of, method]) => [of, traced(`${name}.${of}`, method, member)]))]
  })
  return Object.fromEntries(members) as Store
}

/** These methods do not call the database. */
const NOT_TRACED: readonly string[] = ['close', 'placement']
