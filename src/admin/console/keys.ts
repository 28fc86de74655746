import { type KeyRecord, KIND_WORDS, keysPage } from '../../pages/console/key-page.ts'
import { notFound } from '../problem.ts'
import { queryOf } from './call-api.ts'
import { addChange, addPage, type Console, type Visit } from './console.ts'

const DONE: Readonly<Record<string, string>> = {
  rotated: 'The key was made. It takes over in a minute.',
  retired: 'The key was retired.',
}

async function readKeys({ api }: Visit): Promise<KeyRecord[]> {
  return (await api<{ items: KeyRecord[] }>('GET', '/v1/keys')).body.items
}

export function keyPages(console: Console): void {
  const { deps } = console.admin
  addPage(console, '/console/keys', async (visit) => {
    const keys = await readKeys(visit)
    const done = DONE[visit.query.text('done')]
    return keysPage({ frame: visit.frame, keys, mayChange: visit.may('admin.keys'), done, now: deps.now() })
  })

  addChange(console, {
    path: '/console/keys/rotate',
    scope: 'admin.keys',
    async question(_visit, entered) {
      const kind = entered.text('kind')
      const words = KIND_WORDS[kind]
      if (words === undefined) throw notFound('kind of key')
      return {
        title: 'Rotate this key?',
        effect: `It makes 1 key: ${words.toLowerCase()}. It ends 0 grants, and nothing stops working.`,
        notes: ['The new key is announced for 60 seconds, and then takes over.'],
        button: 'Rotate the key',
        back: '/console/keys',
        more: [['kind', kind]],
      }
    },
    async carryOut({ api }, confirmed) {
      await api('POST', '/v1/keys', { body: { kind: confirmed.text('kind') } })
      return { path: '/console/keys?done=rotated' }
    },
  })
  addRetirement(console)
}

/** For a key that is still needed, the question names the consequences, because such a key is retired only after a leak. */
function addRetirement(console: Console): void {
  const { deps } = console.admin
  const find = async (visit: Visit): Promise<{ key: KeyRecord; isNeeded: boolean }> => {
    const key = (await readKeys(visit)).find(({ key_id: id }) => id === visit.params.id)
    if (!key) throw notFound('key')
    return { key, isNeeded: key.opens_until === null || key.opens_until > deps.now() }
  }
  addChange(console, {
    path: '/console/keys/:id/retire',
    scope: 'admin.keys',
    async question(visit) {
      const { key, isNeeded } = await find(visit)
      const words = (KIND_WORDS[key.kind] ?? key.kind).toLowerCase()
      return {
        title: isNeeded ? 'Retire a key that leaked?' : 'Retire this key?',
        effect: isNeeded
          ? `It deletes 1 key that is still needed (${words}). A new key takes over at once, and everything that the old key made stops working now.`
          : `It deletes 1 key (${words}). Nothing that it made is still valid.`,
        notes: isNeeded ? ['Do this only if the key leaked. Otherwise rotate the key: old keys are retired by themselves.'] : [],
        button: isNeeded ? 'It leaked: retire it now' : 'Retire the key',
        tone: 'danger',
        back: '/console/keys',
        more: [['at_once', isNeeded ? 'true' : 'false']],
      }
    },
    async carryOut({ api, params }, confirmed) {
      const at_once = confirmed.text('at_once') === 'true'
      await api('DELETE', `/v1/keys/${encodeURIComponent(params.id ?? '')}${queryOf({ at_once })}`)
      return { path: '/console/keys?done=retired' }
    },
  })
}
