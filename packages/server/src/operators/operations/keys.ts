/** The kinds, states and times of the keys. No operation returns key material. */
import {
  type KeyKeeping,
  keyState,
  opensUntil,
  retireKey as retire,
  rotateKey as rotate,
  rotatesAt,
} from '../../domain/maintenance/keep-keys.ts'
import type { KeyKind, KeyRecord as StoredKey } from '../../protocol/keys/key-ring.ts'
import type { Members } from '../members/member.ts'
import { Type } from './json-schema.ts'
import { column, columns, type RecordKind, type Subject } from './operation.ts'
import { conflict, notFound } from './refusal.ts'
import { fieldsOf, nameSchema, refTo, time, timeOrNull } from './schemas.ts'
import type { Service } from './service.ts'
import { operationsOn } from './standard.ts'
import { utc } from './words.ts'

export const KEY_KINDS = ['sign', 'sign_es256', 'sign_rs256', 'sign_eddsa', 'seal', 'mac'] as const

/** What the keys of each kind make. */
export const KIND_WORDS: Readonly<Record<string, string>> = {
  sign: 'Access tokens and metadata',
  sign_es256: 'ID tokens, ES256',
  sign_rs256: 'ID tokens, RS256',
  sign_eddsa: 'ID tokens, EdDSA',
  seal: 'Sealed codes, challenges and receipts',
  mac: 'Refresh tokens',
}

/** What the state of a key depends on. */
type KeyInUse = { key: StoredKey; keeping: KeyKeeping; all: StoredKey[] }

const fields = fieldsOf<KeyInUse>()({
  key_id: [Type.String(), ({ key }) => key.id],
  kind: [Type.Enum([...KEY_KINDS]), ({ key }) => key.kind],
  algorithm: [Type.String(), ({ key }) => key.algorithm],
  state: [Type.Enum(['announced', 'makes', 'opens', 'retired']), ({ key, keeping, all }) => keyState(keeping, all, key)],
  created_at: [time, ({ key }) => key.createdAt],
  starts_at: [time, ({ key }) => key.startsAt],
  rotates_at: [
    Type.Union([time, Type.Null()], {
      description: 'When the next key of the kind is made. Null for a key that is not the youngest of its kind.',
    }),
    ({ key, keeping, all }) => rotatesAt(keeping, all, key),
  ],
  opens_until: [timeOrNull, ({ key, keeping, all }) => opensUntil(keeping, all, key)],
  retired_at: [timeOrNull, ({ key }) => key.retiredAt],
})

const keyKind: RecordKind = {
  name: 'keys',
  noun: 'key',
  words: 'Keys of the service',
  schemas: [nameSchema('Key', Type.Object(fields.schemas))],
  scope: 'admin.keys',
  settings: 'keys',
  idName: 'key_id',
  displays: [
    ...columns('key_id', 'kind', 'algorithm', 'state'),
    column('CREATED', 'created_at', 'time'),
    {
      label: 'Next rotation',
      column: 'NEXT ROTATION',
      shown: ({ rotates_at: at }) => (at === null ? '' : { time: at as number }),
    },
    {
      label: 'Opens until',
      column: 'OPENS UNTIL',
      shown: ({ state, opens_until: until }) => (state === 'opens' && until !== null ? { time: until as number } : ''),
    },
  ],
  empty: 'There is no key yet: grantor serve makes the first ones.',
}
const { list, create, remove, existing } = operationsOn(keyKind)

export type ShownKey = Awaited<ReturnType<typeof readKeys>>[number]

export const listKeys = list<Members, ShownKey>({
  summary: 'Lists the keys with their states.',
  // The command also shows the numbers: packages/server/src/app/commands/keys-list.ts.
  command: null,
  run: async ({ service }) => ({ output: { items: await readKeys(service) } }),
})

export const rotateKey = create<{ kind: KeyKind }, ShownKey>({
  id: 'rotateKey',
  verb: 'rotate',
  summary: 'Makes the next key of a kind.',
  description: 'The key is announced for 60 seconds before the first use. Nothing stops working.',
  input: [
    {
      name: 'kind',
      shape: { kind: 'text', choices: KEY_KINDS },
      required: true,
    },
  ],
  refusals: ['conflict'],
  answers: { created: 'The new key.' },
  output: refTo(keyKind.schemas[0]),
  // The command rotates several kinds: packages/server/src/app/commands/keys-rotate.ts.
  command: null,
  page: { link: 'Rotate', done: 'The key was made. It takes over in a minute.' },
  question: async ({ input: { kind } }) => ({
    effect: `It makes 1 key: ${wordsOf(kind)}. It ends 0 grants, and nothing stops working.`,
    notes: ['The new key is announced for 60 seconds, and then takes over.'],
  }),
  async run({ service, input }) {
    const key = await rotate(service.keys().keeping, input.kind)
    if (key === 'taken') throw conflict(`Another process made a ${input.kind} key just now.`)
    const record = (await readKeys(service)).find(({ key_id: id }) => id === key.id)
    if (!record) throw new Error('the new key is missing')
    return { output: record, isNew: true, act: { event: 'key_made', reason: key.kind, key_id: key.id } }
  },
})

export const retireKey = remove<{ at_once?: boolean }>({
  id: 'retireKey',
  verb: 'retire',
  summary: 'Retires a key permanently.',
  description:
    'Refused while the key is in use, or while something that was made with the key may be valid. With `at_once`, for a key that leaked, a new key takes over immediately, and everything that the old key made stops working.',
  input: [{ name: 'at_once', shape: { kind: 'flag' }, option: { words: 'Retires the key now, with everything that it made.' } }],
  refusals: ['conflict'],
  answers: { done: 'The key was retired.' },
  command: {
    about:
      'The running service itself retires a key when everything that was made with the key has expired. This command is refused while the key is in use, or while something that was made with the key may be valid. For a leaked key use --at-once: a new key takes over immediately, and these stop working: access tokens (sign), codes and sign-ins in progress (seal), refresh tokens and sign-ins in progress (mac).',
    examples: ['9f3a1c07be', '9f3a1c07be --at-once'],
    done: (_output, { id }) => `Retired ${id}.`,
  },
  page: { link: 'Retire', done: 'The key was retired.' },
  /** For a key that is still needed, the question names the consequences, because such a key is retired only after a leak. */
  async question({ service, id, input }) {
    const found = (await readKeys(service)).find(({ key_id: each }) => each === id)
    const key = existing(found, id)
    const words = wordsOf(key.kind)
    if (!isNeeded(key, service.now())) return { effect: `It deletes 1 key (${words}). Nothing that it made is still valid.` }
    if (input.at_once !== true) throw conflict('The key is needed. Rotate the key, or use at_once if it leaked.')
    return {
      title: 'Retire a key that leaked?',
      effect: `It deletes 1 key that is still needed (${words}). A new key takes over at once, and everything that the old key made stops working now.`,
      notes: ['Do this only if the key leaked. Otherwise rotate the key: old keys are retired by themselves.'],
      button: 'It leaked: retire it now',
    }
  },
  async run({ service, id, input }) {
    const atOnce = input.at_once === true
    const outcome = await retire(service.keys().keeping, id, { atOnce })
    switch (outcome.kind) {
      case 'unknown':
        throw notFound(keyKind.name, id)
      case 'still_makes':
        throw conflict('The key is in use. Rotate the key first, or use at_once if it leaked.')
      case 'still_opens':
        throw conflict(`What the key made may be valid until ${utc(outcome.until)}. Wait, or use at_once if it leaked.`)
      case 'retired': {
        const details = atOnce ? { details: { at_once: 'yes' } } : {}
        return { output: undefined, act: { event: 'key_retired', key_id: id, ...details } }
      }
    }
  },
})

/** Whether something that was made with the key may be valid. */
export function isNeeded({ opens_until: until }: Pick<ShownKey, 'opens_until'>, now: number): boolean {
  return until === null || until > now
}

async function readKeys(service: Service) {
  return (await readStored(service)).map(fields.read)
}

async function readStored(service: Service): Promise<KeyInUse[]> {
  const { keeping } = service.keys()
  const all = await service.store.keys.listKeys()
  return all.map((key) => ({ key, keeping, all }))
}

/** The keys with their numbers within their kinds, which only the command line shows. */
export async function readNumberedKeys(service: Service): Promise<Members[]> {
  return (await readStored(service)).map((stored) => {
    const { key_id, kind, ...others } = fields.read(stored)
    return { key_id, kind, number: stored.key.number, ...others }
  })
}

function wordsOf(kind: string): string {
  return (KIND_WORDS[kind] ?? kind).toLowerCase()
}

export const keys: Subject = { ...keyKind, operations: [listKeys, rotateKey, retireKey] }
