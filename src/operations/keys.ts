/** The kinds, states and times of the keys. No operation returns key material. */
import { Type } from 'typebox'
import {
  type KeyKeeping,
  keyState,
  opensUntil,
  retireKey as retire,
  rotateKey as rotate,
} from '../domain/maintenance/keep-keys.ts'
import type { KeyRecord as StoredKey } from '../domain/model/operator-store.ts'
import type { KeyKind } from '../keys/key-ring.ts'
import type { Members } from './members/member.ts'
import { defineOperation, type Listed, type Subject } from './operation.ts'
import { conflict, notFound } from './refusal.ts'
import { listOf, named, refTo, time, timeOrNull } from './schemas.ts'
import type { Service } from './service.ts'
import { utc } from './words.ts'

const subject = 'keys'

const KEY_KINDS = ['sign', 'sign_es256', 'sign_rs256', 'sign_eddsa', 'seal', 'mac'] as const

/** What the keys of each kind make. */
export const KIND_WORDS: Readonly<Record<string, string>> = {
  sign: 'Access tokens and metadata',
  sign_es256: 'ID tokens, ES256',
  sign_rs256: 'ID tokens, RS256',
  sign_eddsa: 'ID tokens, EdDSA',
  seal: 'Sealed codes, challenges and receipts',
  mac: 'Refresh tokens',
}

export const keySchema = named(
  'Key',
  Type.Object({
    key_id: Type.String(),
    kind: Type.Enum([...KEY_KINDS]),
    algorithm: Type.String(),
    state: Type.Enum(['announced', 'makes', 'opens', 'retired']),
    created_at: time,
    starts_at: time,
    opens_until: timeOrNull,
    retired_at: timeOrNull,
  }),
)

export type KeyRecord = ReturnType<typeof keyRecord>

export function keyRecord(keeping: KeyKeeping, records: StoredKey[], key: StoredKey) {
  return {
    key_id: key.id,
    kind: key.kind,
    algorithm: key.algorithm,
    state: keyState(keeping, records, key),
    created_at: key.createdAt,
    starts_at: key.startsAt,
    opens_until: opensUntil(keeping, records, key),
    retired_at: key.retiredAt,
  }
}

export const listKeys = defineOperation<Members, Listed<KeyRecord>>({
  id: 'listKeys',
  subject,
  kind: 'list',
  verb: 'list',
  scope: 'admin.read',
  summary: 'Lists the keys with their states.',
  answers: { done: 'All keys.' },
  output: listOf(keySchema),
  // The command `keys list` also prints the numbers of the keys: src/cli/commands/keys-list.ts.
  command: null,
  run: async ({ service }) => ({ output: { items: await readKeys(service) } }),
})

export const rotateKey = defineOperation<{ kind: KeyKind }, KeyRecord>({
  id: 'rotateKey',
  subject,
  kind: 'create',
  verb: 'rotate',
  scope: 'admin.keys',
  summary: 'Makes the next key of a kind.',
  description: 'The key is announced for 60 seconds, then it takes over. Nothing stops working.',
  input: [
    {
      name: 'kind',
      shape: { kind: 'text', choices: KEY_KINDS },
      required: true,
      option: { value: 'KIND', words: 'sign, sign_es256, sign_rs256, sign_eddsa, seal or mac; sign unless given.' },
    },
  ],
  mayConflict: true,
  answers: { created: 'The new key.' },
  output: refTo(keySchema),
  command: {
    about: [
      'The running service rotates keys by age (GRANTOR_KEY_ROTATION_DAYS); this command rotates them earlier. The new key is announced for 60 seconds, then it takes over. Nothing stops working: the earlier key opens what it made until all of that has expired. For a leaked key: grantor keys retire --at-once.',
    ],
    examples: ['', '--kind seal --kind mac'],
    repeats: { member: 'kind', usual: 'sign' },
    done: ({ kind, key_id, starts_at }: KeyRecord) => `Made ${kind} key ${key_id}; it takes over at ${utc(starts_at)}.`,
    json: ({ key_id, kind, starts_at }: KeyRecord) => ({ key_id, kind, starts_at }),
  },
  page: { link: 'Rotate now', button: 'Rotate the key', done: 'The key was made. It takes over in a minute.' },
  question: async ({ input: { kind } }) => ({
    title: 'Rotate this key?',
    effect: `It makes 1 key: ${wordsOf(kind)}. It ends 0 grants, and nothing stops working.`,
    notes: ['The new key is announced for 60 seconds, and then takes over.'],
    decided: { kind },
  }),
  async run({ service, input }) {
    const key = await rotate(service.keys().keeping, input.kind)
    if (key === 'taken') throw conflict(`Another process made a ${input.kind} key just now.`)
    const record = (await readKeys(service)).find(({ key_id: id }) => id === key.id)
    if (!record) throw new Error('the new key is missing')
    return { output: record, isNew: true, act: { event: 'key_made', reason: key.kind, key_id: key.id } }
  },
})

export const retireKey = defineOperation<{ at_once?: boolean }>({
  id: 'retireKey',
  subject,
  kind: 'delete',
  verb: 'retire',
  scope: 'admin.keys',
  summary: 'Deletes a key permanently.',
  description:
    'Refused while the key is in use, or while something that it made may be valid. With `at_once`, for a key that leaked, a new key takes over immediately, and everything that the old key made stops working.',
  input: [{ name: 'at_once', shape: { kind: 'flag' }, option: { words: 'Retires the key now, with everything that it made.' } }],
  mayConflict: true,
  answers: { done: 'The key was retired.' },
  output: null,
  command: {
    about: [
      'The running service itself retires keys when everything that they made has expired. This command is refused while the key is in use or something that it made may still be valid. For a leaked key use --at-once: a new key takes over immediately, and these stop working: access tokens (sign), codes and logins in progress (seal), refresh tokens and logins in progress (mac).',
    ],
    examples: ['9f3a1c07be', '9f3a1c07be --at-once'],
    done: (_output, { id }) => `Retired ${id}.`,
  },
  page: { link: 'Retire', button: 'Retire the key', done: 'The key was retired.' },
  /** For a key that is still needed, the question names the consequences, because such a key is retired only after a leak. */
  async question({ service, id }) {
    const key = (await readKeys(service)).find(({ key_id: each }) => each === id)
    if (!key) throw notFound(subject, id)
    const isNeeded = key.opens_until === null || key.opens_until > service.now()
    const words = wordsOf(key.kind)
    if (!isNeeded)
      return {
        title: 'Retire this key?',
        effect: `It deletes 1 key (${words}). Nothing that it made is still valid.`,
        isDangerous: true,
        decided: { at_once: false },
      }
    return {
      title: 'Retire a key that leaked?',
      effect: `It deletes 1 key that is still needed (${words}). A new key takes over at once, and everything that the old key made stops working now.`,
      notes: ['Do this only if the key leaked. Otherwise rotate the key: old keys are retired by themselves.'],
      button: 'It leaked: retire it now',
      isDangerous: true,
      decided: { at_once: true },
    }
  },
  async run({ service, id, input }) {
    const atOnce = input.at_once === true
    const outcome = await retire(service.keys().keeping, id, { atOnce })
    switch (outcome.kind) {
      case 'unknown':
        throw notFound(subject, id)
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

async function readKeys(service: Service): Promise<KeyRecord[]> {
  const { keeping } = service.keys()
  const records = await service.store.keys.listKeys()
  return records.map((key) => keyRecord(keeping, records, key))
}

function wordsOf(kind: string): string {
  return (KIND_WORDS[kind] ?? kind).toLowerCase()
}

export const keys: Subject = {
  name: subject,
  noun: 'key',
  words: 'Keys of the service',
  operand: { name: 'KEY_ID', words: 'The id of the key, from grantor keys list.' },
  unknown: 'there is no living key',
  settings: 'keys',
  idName: 'key_id',
  operations: [listKeys, rotateKey, retireKey],
}
