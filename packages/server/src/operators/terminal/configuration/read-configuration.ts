/**
 * Reads the file of a configuration: YAML 1.2, of which JSON is a subset. Everything that is not supported is a fault, with its line.
 * Anchors, aliases and tags are refused, so no short file can become a large value.
 */
import { dirname, isAbsolute, join, normalize } from 'node:path'
import { LARGEST_AMOUNT, PERIODS } from '@grantor/protocol/limit'
import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
} from 'yaml'
import { CLIENT_LOGO, readLogoUri } from '../../../config/look/logo.ts'
import { DECIMALS_AT_MOST, USES_AT_MOST } from '../../../protocol/oauth/limit-faults.ts'
import { nearest } from '../../../protocol/oauth/nearest.ts'
import { entryOfMetadata, metadataMembers } from '../../configuration/client-metadata-entry.ts'
import { type Configuration, planSections, SECTION_NAMES } from '../../configuration/plan.ts'
import type { PlanEntry } from '../../configuration/section.ts'
import type { Member, Members, Shape } from '../../members/member.ts'
import { UsageError } from '../command.ts'
import { shorten } from '../print.ts'
import { readPictureFile } from '../read-picture.ts'

/** In characters. 10,000 clients with one redirect URI each have 5 million. */
export const FILE_AT_MOST = 10_000_000
/** The first faults are often the cause of the others. */
const FAULTS_AT_MOST = 20
const DEPTH_AT_MOST = 20
/** In characters: names and values in messages. */
const SHOWN_AT_MOST = 60

type NamePath = (node: unknown) => string
/** `folder`: where the pictures of the file are */
type FileReading = { faults: string[]; place: NamePath; folder: string }

/** The configuration, or a `UsageError` that lists the faults. `file` is for messages only. */
export function readConfiguration(text: string, file: string): Configuration {
  const reading: FileReading = { faults: [], place: () => '', folder: dirname(file) }
  const document = parse(text, reading)
  const configuration = document && readSections(document, reading)
  if (configuration && reading.faults.length === 0) return configuration
  throw new UsageError(faultLines(file, reading.faults))
}

export function faultLines(file: string, faults: readonly string[], done = 'applied'): string[] {
  // The file may be from another author, so its text must not control the terminal.
  const shown = faults.slice(0, FAULTS_AT_MOST).map((fault) => `- ${fault.replaceAll(/[\p{Cc}\p{Cf}]/gu, '?')}`)
  const more = faults.length > FAULTS_AT_MOST ? [`and ${faults.length - FAULTS_AT_MOST} more`] : []
  return [`${JSON.stringify(file)} cannot be ${done}; nothing was changed`, ...shown, ...more]
}

/**
 * Client metadata of RFC 7591: one object, or a list of them, as a configuration with clients only. Members with a name of `leaveOut` are not read.
 */
export function readClientMetadata(text: string, file: string, leaveOut: readonly string[]): Configuration {
  const reading: FileReading = { faults: leaveOut.flatMap(leaveOutFault), place: () => '', folder: dirname(file) }
  const contents = reading.faults.length === 0 ? parse(text, reading)?.contents : null
  const items = isSeq(contents) ? contents.items : [contents]
  if (items.length === 0) reading.faults.push('the file has no client')
  const names = new Set(items.flatMap((item) => (isMap(item) ? item.items.map(nameOf) : [])))
  if (reading.faults.length === 0)
    reading.faults.push(...leaveOut.filter((name) => !names.has(name)).map((name) => `no client of the file has ${name}`))
  const entries = items.map((item, index): PlanEntry => {
    const path = `client ${index + 1}`
    if (!isMap(item)) {
      if (reading.faults.length === 0)
        reading.faults.push(`${reading.place(item)}: ${path} must be an object (RFC 7591 section 2)`)
      return { place: '', members: {} }
    }
    item.items = item.items.filter((pair) => !leaveOut.includes(nameOf(pair)))
    const metadata = readEntry(item, path, metadataMembers, reading)
    // The defaults of the metadata can be derived only from members of the right types.
    const { members, faults } = reading.faults.length === 0 ? entryOfMetadata(metadata) : { members: {}, faults: [] }
    const place = `${reading.place(item)}: ${path}`
    reading.faults.push(...faults.map((fault) => `${place}: ${fault}`))
    return { place, members }
  })
  if (entries.length > planSections.clients.atMost) reading.faults.push(`at most ${planSections.clients.atMost} clients are read`)
  const unsupported = [...names].filter((name) => /^\w+$/.test(name) && !isMetadata(name) && !leaveOut.includes(name))
  if (reading.faults.length === 0) return { ...NO_SECTION, clients: entries }
  throw new UsageError([...faultLines(file, reading.faults, 'imported'), ...leaveOutHint(unsupported)])
}

const isMetadata = (name: string): boolean => metadataMembers.some((member) => member.name === name)
const nameOf = ({ key }: Pair): string => (isScalar(key) ? String(key.value) : '')

/** A supported member is never left out, because the client could have more rights without the member. Another id does no harm. */
function leaveOutFault(name: string): string[] {
  return isMetadata(name) && name !== 'client_id'
    ? [`--leave-out ${name}: Grantor supports ${name}; change the file instead`]
    : []
}

function leaveOutHint(unsupported: readonly string[]): string[] {
  if (unsupported.length === 0) return []
  const options = unsupported.slice(0, FAULTS_AT_MOST).map((name) => `--leave-out ${name}`)
  return [`To import the clients without these members, add ${options.join(' ')}`]
}

const NO_SECTION = Object.fromEntries(SECTION_NAMES.map((name) => [name, null])) as Configuration

function parse(text: string, reading: FileReading): Document.Parsed | null {
  if (text.length > FILE_AT_MOST) {
    reading.faults.push(`the file has more than ${FILE_AT_MOST / 1_000_000} million characters`)
    return null
  }
  const lines = new LineCounter()
  reading.place = (node) => (isNode(node) && node.range ? `line ${lines.linePos(node.range[0]).line}` : 'line 1')
  try {
    const document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      schema: 'core',
      version: '1.2',
      stringKeys: true,
      uniqueKeys: false,
      merge: false,
    })
    const problems = [...document.errors, ...document.warnings]
    // The parser reports some overflows of its recursion as errors, and throws others.
    if (problems.some(({ message }) => message.includes('call stack'))) throw new RangeError()
    for (const { pos, message } of problems) reading.faults.push(`line ${lines.linePos(pos[0]).line}: ${message}`)
    if (reading.faults.length === 0) refuseReferences(document, reading)
    return reading.faults.length === 0 ? document : null
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    reading.faults.push('the file is nested too deeply')
    return null
  }
}

function refuseReferences(document: Document.Parsed, { faults, place }: FileReading): void {
  visit(document, {
    Alias: (_key, node) => void faults.push(`${place(node)}: aliases (*${node.source}) are not supported: repeat the value`),
    Node: (_key, node, path) => {
      if ('anchor' in node && node.anchor) faults.push(`${place(node)}: anchors (&${node.anchor}) are not supported`)
      if (node.tag) faults.push(`${place(node)}: tags (${node.tag}) are not supported`)
      if (path.length <= DEPTH_AT_MOST * 2) return undefined
      faults.push(`${place(node)}: the file is nested too deeply`)
      return visit.BREAK
    },
  })
}

function readSections(document: Document.Parsed, reading: FileReading): Configuration | null {
  const { contents } = document
  if (!isMap(contents)) {
    reading.faults.push(`the file must have one or more of the sections ${SECTION_NAMES.join(', ')}`)
    return null
  }
  const sections = pairsOf(contents, '', SECTION_NAMES, reading)
  return Object.fromEntries(SECTION_NAMES.map((name) => [name, readSection(name, sections.get(name), reading)])) as Configuration
}

function readSection(
  name: (typeof SECTION_NAMES)[number],
  node: Node | null | undefined,
  reading: FileReading,
): PlanEntry[] | null {
  if (node === undefined) return null
  const { faults, place } = reading
  if (!isSeq(node)) {
    // `clients:` with nothing below may be unfinished. With --prune, it would delete everything.
    faults.push(`${place(node)}: ${name} must be a list; an empty list is written as ${name}: []`)
    return null
  }
  const { atMost, members } = planSections[name]
  if (node.items.length > atMost) {
    faults.push(`${place(node)}: ${name} has ${node.items.length} entries; at most ${atMost} are read`)
    return null
  }
  const table = Object.values(members)
  return node.items.map((item, index) => {
    const path = `${name}[${index}]`
    const entry: Members = isMap(item) ? readEntry(item, path, table, reading) : {}
    if (!isMap(item)) faults.push(`${place(item)}: ${path} must be an entry with members such as ${table[1]?.name}`)
    return { place: `${place(item)}: ${path}`, members: entry }
  })
}

function readEntry(map: YAMLMap, path: string, table: readonly Member[], reading: FileReading): Members {
  const known = table.map(({ name }) => name)
  const pairs = pairsOf(map, path, known, reading)
  const members: Record<string, unknown> = {}
  for (const [name, node] of pairs) {
    const member = table.find((each) => each.name === name)
    if (member) members[name] = readValue(node, { path: `${path}.${name}`, member, reading })
  }
  for (const { name, required } of table)
    if (required && !pairs.has(name)) reading.faults.push(`${reading.place(map)}: ${path} needs ${name}`)
  return members
}

/** The values by name. Unknown and repeated names are faults. */
function pairsOf(map: YAMLMap, path: string, known: readonly string[], { faults, place }: FileReading): Map<string, Node | null> {
  const values = new Map<string, Node | null>()
  for (const { key, value } of map.items as Pair<Node, Node | null>[]) {
    const name = isScalar(key) ? String(key.value) : ''
    const shown = path === '' ? shorten(name, SHOWN_AT_MOST) : `${path}.${shorten(name, SHOWN_AT_MOST)}`
    if (values.has(name)) faults.push(`${place(key)}: ${shown} is given twice`)
    else if (!known.includes(name)) {
      const meant = nearest(name.slice(0, SHOWN_AT_MOST), known)
      faults.push(
        `${place(key)}: ${shown} is not supported${meant ? `; did you mean ${meant}?` : ''}${isSecret(name) ? SECRET_HINT : ''}`,
      )
    }
    values.set(name, value)
  }
  return values
}

const SECRET_HINT = '. The file holds no secrets: a new client gets one, and a present one is kept'

function isSecret(name: string): boolean {
  return name.startsWith('client_secret') || name === 'secrets'
}

type ValueParts = { path: string; member: Member; reading: FileReading }

function readValue(node: Node | null, { path, member, reading }: ValueParts): unknown {
  const { faults, place } = reading
  const fault = (words: string): null => {
    faults.push(`${place(node)}: ${path} ${words}`)
    return null
  }
  if (node === null || (isScalar(node) && node.value === null))
    return member.nullable && node !== null
      ? null
      : fault(`has no value; ${member.nullable ? 'write null, or ' : ''}leave it out`)
  return readShaped(node, { path, shape: member.shape, fault, reading })
}

type ShapedParts = { path: string; shape: Shape; fault: (words: string) => null; reading: FileReading }

function readShaped(node: Node, { path, shape, fault, reading }: ShapedParts): unknown {
  switch (shape.kind) {
    case 'flag':
      return isScalar(node) && typeof node.value === 'boolean' ? node.value : fault('must be true or false')
    case 'integer':
      return isScalar(node) && isWithin(node.value, shape) ? node.value : fault(`must be ${rangeWords(shape)}`)
    case 'text':
      return isText(node) ? choice(node.value, shape.choices, fault) : fault('must be a text; put it in quotes')
    case 'texts':
      return isSeq(node) && node.items.every(isText)
        ? node.items.map((item) => choice(item.value, shape.choices, fault))
        : fault('must be a list of texts')
    case 'picture':
      return isText(node) ? readPicture(node.value, reading.folder, fault) : fault('must be a data URI or the name of a file')
    case 'key_set':
      return isMap(node) ? (node.toJSON() as unknown) : fault('must be a JWK Set: {"keys":[…]}')
    case 'scopes':
      return isSeq(node) && node.items.every((item) => isMap(item))
        ? node.items.map((item, index) => readEntry(item, `${path}[${index}]`, SCOPE, reading))
        : fault('must be a list of entries with name and description')
    case 'limit':
      return isMap(node) ? readEntry(node, path, LIMIT, reading) : fault('must be an entry with uses')
    default:
      return fault('cannot be read from a file')
  }
}

type Range = { minimum: number; maximum?: number }

function isWithin(value: unknown, { minimum, maximum = Number.MAX_SAFE_INTEGER }: Range): boolean {
  return Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum
}

function rangeWords({ minimum, maximum }: Range): string {
  return maximum === undefined ? `a whole number from ${minimum} on` : `a whole number from ${minimum} to ${maximum}`
}

/** A data URI, or a file in the folder of this file or below. */
function readPicture(text: string, folder: string, fault: (words: string) => null): string | null {
  if (text.startsWith('data:')) {
    const read = readLogoUri(text, CLIENT_LOGO)
    return 'fault' in read ? fault(read.fault) : text
  }
  // The file may be from another author, so it names no other files of this machine.
  if (isAbsolute(text) || normalize(text).startsWith('..'))
    return fault('must be a file in the folder of this file, or a data URI')
  const read = readPictureFile(join(folder, text))
  return 'fault' in read ? fault(read.fault) : read.uri
}

const SCOPE: readonly Member[] = [
  { name: 'name', shape: { kind: 'text' }, required: true },
  { name: 'description', shape: { kind: 'text' }, required: true },
  { name: 'limit', shape: { kind: 'limit' } },
]

const AMOUNT: Shape = { kind: 'integer', minimum: 1, maximum: LARGEST_AMOUNT }
const LIMIT: readonly Member[] = [
  { name: 'uses', shape: { kind: 'integer', minimum: 1, maximum: USES_AT_MOST }, required: true },
  { name: 'per', shape: { kind: 'text', choices: Object.keys(PERIODS) } },
  { name: 'unit', shape: { kind: 'text' } },
  { name: 'decimals', shape: { kind: 'integer', minimum: 0, maximum: DECIMALS_AT_MOST } },
  { name: 'amount', shape: AMOUNT },
  { name: 'each', shape: AMOUNT },
]

function isText(node: unknown): node is { value: string } {
  return isScalar(node) && typeof node.value === 'string'
}

function choice(text: string, choices: readonly string[] | undefined, fault: (words: string) => null): string | null {
  if (!choices || choices.includes(text)) return text
  const meant = nearest(text.slice(0, SHOWN_AT_MOST), choices)
  return fault(
    `must be one of ${choices.join(', ')}, not ${shorten(JSON.stringify(text), SHOWN_AT_MOST)}${meant ? `; did you mean ${meant}?` : ''}`,
  )
}
