/**
 * Finds regular expressions whose matching time can grow faster than their input.
 *
 * A backtracking engine is slow when one text can be read in many ways and then fails to match. The expression is therefore
 * turned into an automaton with one state for each character class, and the automaton is searched for a state with two paths
 * back to itself over the same text (exponential time), and for two states that a repeated text can stay in or move between
 * (quadratic time or worse). An expression without a leading `^` is tried at each position of the text, which is a loop of its
 * own. Assertions are taken to hold, so the search may report an expression that is harmless, but misses none.
 */
import { Parser, type RegexNode } from './regex-parser.ts'

/** More copies of a counted part than this tell nothing new. */
const COPIES_AT_MOST = 3

/** Why the expression may take more than linear time, or null. Throws for syntax that this check does not understand. */
export function superlinear(pattern: string, flags = ''): string | null {
  const parser = new Parser(pattern)
  const tree = parser.parse()
  const anchored = (parser.isAnchored && !flags.includes('m')) || flags.includes('y')
  const automaton = new Automaton(anchored ? tree : { kind: 'sequence', nodes: [searching(), tree] })
  automaton.readLetters(flags.replaceAll(/[gy]/g, ''))
  const loops = automaton.states.filter((state) => automaton.reaches(state, state))
  // The engine stops at the first match. So from a state in which nothing is missing it never comes back for another path.
  const failing = loops.filter((state) => !automaton.accepts(state))
  const twice = failing.find((state) => automaton.loopsTwice(state))
  if (twice !== undefined) return `two ways to repeat ${automaton.nameOf(twice)}`
  for (const state of loops) {
    const other = failing.find((each) => each !== state && automaton.staysInBoth(state, each))
    if (other !== undefined) return `${automaton.nameOf(state)} and ${automaton.nameOf(other)} repeat the same text`
  }
  return null
}

/** The engine's own loop over the positions at which a match may start. */
function searching(): RegexNode {
  return { kind: 'repeat', node: { kind: 'set', source: '[^]' }, least: 0, most: Number.POSITIVE_INFINITY }
}

/**
 * The first and the last states of a part, and whether the part can be empty. `accepting`: the last states after which no
 * assertion follows; `passable`: whether the part can be empty without an assertion.
 */
type Part = { first: number[]; last: number[]; empty: boolean; accepting: number[]; passable: boolean }

/** Glushkov's automaton. Two edges between the same states stand for two ways to read the same text. */
class Automaton {
  readonly #sources: string[] = []
  readonly #edges: { from: number; to: number }[] = []
  readonly #edgesOf = new Map<number, number[]>()
  readonly #reached = new Map<number, Set<number>>()
  #letters: Set<number>[] = []
  readonly #accepting: ReadonlySet<number>

  constructor(tree: RegexNode) {
    this.#accepting = new Set(this.#add(tree).accepting)
  }

  get states(): number[] {
    return [...this.#sources.keys()]
  }

  /** Whether a path of at least one edge leads from one state to the other. */
  reaches(from: number, to: number): boolean {
    return this.#reachable(from).has(to)
  }

  #reachable(from: number): Set<number> {
    const known = this.#reached.get(from)
    if (known) return known
    const reached = new Set<number>()
    const queue = [from]
    for (const state of queue) {
      for (const edge of this.#outOf(state)) {
        const { to = 0 } = this.#edges[edge] ?? {}
        if (!reached.has(to)) queue.push(to)
        reached.add(to)
      }
    }
    this.#reached.set(from, reached)
    return reached
  }

  /** Whether the expression has matched once this state is reached. */
  accepts(state: number): boolean {
    return this.#accepting.has(state)
  }

  nameOf(state: number): string {
    return this.#sources[state] ?? ''
  }

  /** Which letters each state takes. Characters that no set tells apart are one letter. */
  readLetters(flags: string): void {
    const literal = [...this.#sources.join('')]
    const characters = [
      ...Array.from({ length: 0x180 }, (_, code) => String.fromCharCode(code)),
      ...literal,
      '\u2028',
      '\ufeff',
      '\u3042',
      '\u{1f600}',
    ]
    const sets = this.#sources.map((source) => new RegExp(`^${source}$`, flags))
    const letters = new Map<string, number>()
    for (const character of new Set(characters)) {
      const signature = sets.map((set) => (set.test(character) ? '1' : '0')).join('')
      if (!letters.has(signature)) letters.set(signature, letters.size)
    }
    this.#letters = sets.map(
      (_, state) => new Set([...letters].filter(([signature]) => signature[state] === '1').map(([, letter]) => letter)),
    )
  }

  /** Whether two different paths lead from the state back to it over the same text. */
  loopsTwice(state: number): boolean {
    return this.#search([state, state], ([left, right]) => left !== right, [state, state])
  }

  /** Whether some text, read from `state`, can end in it and in `other`, and read from `other`, can end in that. */
  staysInBoth(state: number, other: number): boolean {
    return this.#search([state, state, other], () => true, [state, other, other])
  }

  /** Breadth-first over tuples of states that read the same text. `differ`: whether the chosen edges count as different. */
  #search(start: number[], differ: (edges: number[]) => boolean, goal: number[]): boolean {
    const seen = new Set<string>()
    const queue = [{ at: start, different: false }]
    for (const { at, different } of queue) {
      for (const edges of product(at.map((state) => this.#outOf(state)))) {
        const to = edges.map((edge) => this.#edges[edge]?.to ?? 0)
        if (!to.every((state, index) => state === goal[index] || this.reaches(state, goal[index] ?? 0))) continue
        if (!this.#haveLetterInCommon(to)) continue
        const next = { at: to, different: different || differ(edges) }
        const key = `${to.join()} ${next.different}`
        if (seen.has(key)) continue
        seen.add(key)
        if (next.different && to.join() === goal.join()) return true
        queue.push(next)
      }
    }
    return false
  }

  #outOf(state: number): number[] {
    return this.#edgesOf.get(state) ?? []
  }

  #haveLetterInCommon(states: number[]): boolean {
    const [first, ...others] = states.map((state) => this.#letters[state] ?? new Set<number>())
    return [...(first ?? [])].some((letter) => others.every((set) => set.has(letter)))
  }

  #add(node: RegexNode): Part {
    switch (node.kind) {
      case 'set': {
        const state = this.#sources.push(node.source) - 1
        return { first: [state], last: [state], accepting: [state], empty: false, passable: false }
      }
      case 'assertion':
        return { ...NOTHING, passable: false }
      case 'sequence':
        return node.nodes.map((each) => this.#add(each)).reduce((left, right) => this.#join(left, right), NOTHING)
      case 'choice':
        return node.nodes.map((each) => this.#add(each)).reduce((left, right) => either(left, right))
      case 'repeat':
        return this.#repeat(node)
    }
  }

  #repeat({ node, least, most }: RegexNode & { kind: 'repeat' }): Part {
    let part = NOTHING
    for (let copy = 0; copy < Math.min(least, COPIES_AT_MOST); copy++) part = this.#join(part, this.#add(node))
    if (most === Number.POSITIVE_INFINITY) {
      const loop = this.#add(node)
      this.#connect(loop.last, loop.first)
      return this.#join(part, optional(loop))
    }
    for (let copy = 0; copy < Math.min(most - least, COPIES_AT_MOST); copy++) part = this.#join(part, optional(this.#add(node)))
    return part
  }

  #join(left: Part, right: Part): Part {
    this.#connect(left.last, right.first)
    return {
      first: left.empty ? [...left.first, ...right.first] : left.first,
      last: right.empty ? [...left.last, ...right.last] : right.last,
      accepting: right.passable ? [...left.accepting, ...right.accepting] : right.accepting,
      empty: left.empty && right.empty,
      passable: left.passable && right.passable,
    }
  }

  #connect(from: number[], to: number[]): void {
    for (const one of from) {
      const edges = this.#edgesOf.get(one) ?? []
      for (const other of to) edges.push(this.#edges.push({ from: one, to: other }) - 1)
      this.#edgesOf.set(one, edges)
    }
  }
}

const NOTHING: Part = { first: [], last: [], accepting: [], empty: true, passable: true }

function optional(part: Part): Part {
  return { ...part, empty: true, passable: true }
}

function either(left: Part, right: Part): Part {
  return {
    first: [...left.first, ...right.first],
    last: [...left.last, ...right.last],
    accepting: [...left.accepting, ...right.accepting],
    empty: left.empty || right.empty,
    passable: left.passable || right.passable,
  }
}

function product(choices: number[][]): number[][] {
  return choices.reduce<number[][]>(
    (tuples, options) => tuples.flatMap((tuple) => options.map((option) => [...tuple, option])),
    [[]],
  )
}
