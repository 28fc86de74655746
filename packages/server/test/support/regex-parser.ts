/** Reads the part of the syntax of regular expressions that this repository uses. */

/** A regular expression as a tree. `set`: one character of a class, an escape or a literal, as it is written. */
export type RegexNode =
  | { kind: 'set'; source: string }
  | { kind: 'assertion' }
  | { kind: 'sequence' | 'choice'; nodes: RegexNode[] }
  | { kind: 'repeat'; node: RegexNode; least: number; most: number }

export class Parser {
  readonly #text: string
  #at = 0
  #leadingAnchors = 0
  #alternatives = 0

  constructor(text: string) {
    this.#text = text
  }

  parse(): RegexNode {
    const tree = this.#choice(0)
    if (this.#at < this.#text.length) throw this.#unknown()
    return tree
  }

  /** Whether each alternative of the whole begins with `^`. */
  get isAnchored(): boolean {
    return this.#leadingAnchors === this.#alternatives
  }

  #choice(depth: number): RegexNode {
    const nodes: RegexNode[] = []
    do nodes.push(this.#sequence(depth))
    while (this.#take('|'))
    return { kind: 'choice', nodes }
  }

  #sequence(depth: number): RegexNode {
    const nodes: RegexNode[] = []
    if (depth === 0) {
      this.#alternatives++
      if (this.#take('^')) this.#leadingAnchors++
    }
    while (this.#at < this.#text.length && !'|)'.includes(this.#text[this.#at] ?? '')) {
      nodes.push(this.#repeated(this.#atom(depth)))
    }
    return { kind: 'sequence', nodes }
  }

  #atom(depth: number): RegexNode {
    if (this.#match(/\\[bB]|[$^]/y) !== null) return { kind: 'assertion' }
    if (this.#match(/\(\?<?[=!]/y) !== null) {
      if (isUnbounded(this.#group(depth))) throw this.#unknown()
      return { kind: 'assertion' }
    }
    if (this.#match(/\((?:\?:|\?<\w+>)?(?!\?)/y) !== null) return this.#group(depth)
    const source = this.#match(
      /\[(?:\\[^]|[^\]\\])*\]|\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]+\}|[pP]\{[^}]*\}|[^1-9xukpPc])|[^()[\]*+?{}|^$\\]/y,
    )
    if (source === null) throw this.#unknown()
    return { kind: 'set', source }
  }

  #group(depth: number): RegexNode {
    const node = this.#choice(depth + 1)
    if (!this.#take(')')) throw this.#unknown()
    return node
  }

  #repeated(node: RegexNode): RegexNode {
    const quantifier = this.#match(/(?:[*+?]|\{\d+(?:,\d*)?\})\??/y)
    if (quantifier === null) return node
    const [least = '', most = least] =
      { '*': ['0', ''], '+': ['1', ''], '?': ['0', '1'] }[quantifier[0] ?? ''] ?? quantifier.replaceAll(/[{}?]/g, '').split(',')
    return { kind: 'repeat', node, least: Number(least), most: most === '' ? Number.POSITIVE_INFINITY : Number(most) }
  }

  #match(expression: RegExp): string | null {
    expression.lastIndex = this.#at
    const [found] = expression.exec(this.#text) ?? []
    if (found === undefined) return null
    this.#at += found.length
    return found
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false
    this.#at++
    return true
  }

  #unknown(): SyntaxError {
    return new SyntaxError(`not understood at ${this.#at}: /${this.#text}/`)
  }
}

function isUnbounded(node: RegexNode): boolean {
  if (node.kind === 'set' || node.kind === 'assertion') return false
  if (node.kind === 'repeat') return node.most === Number.POSITIVE_INFINITY || isUnbounded(node.node)
  return node.nodes.some(isUnbounded)
}
