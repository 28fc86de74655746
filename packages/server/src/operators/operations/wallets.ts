/** Wallets: finds one by the beginning of its address or by its name, and lists its latest refused sign-ins. */

import type { Members } from '../members/member.ts'
import { walletOf } from './grants.ts'
import { Type } from './json-schema.ts'
import { column, defineServerOperation, type RecordKind, readPage, type Subject } from './operation.ts'
import { conflict, invalid } from './refusal.ts'
import { fieldsOf, nameSchema, refTo, time, walletSchema } from './schemas.ts'
import type { RefusedSignIn, Service } from './service.ts'
import { operationsOn } from './standard.ts'

/** Of 16 million wallets, about 250 begin with the same four digits. */
const DIGITS_AT_LEAST = 4
const PREFIX = /^0x[0-9a-f]{4,40}$/

const found = fieldsOf<{ wallet: string }>()({ wallet: [walletSchema, ({ wallet }) => wallet] })

const refused = fieldsOf<RefusedSignIn>()({
  at: [Type.Integer({ minimum: 0, description: 'The last of them, in epoch seconds.' }), ({ at }) => at],
  reason: [Type.String(), ({ reason }) => reason],
  network: [Type.String({ description: 'The first part of the address of the caller.' }), ({ network }) => network],
  count: [Type.Integer(), ({ count }) => count],
})

type ShownWallet = { wallet: string; refusals: RefusedSignIn[]; since: number }
const details = fieldsOf<ShownWallet>()({
  wallet: [walletSchema, ({ wallet }) => wallet],
  refused_sign_ins: [
    Type.Array(Type.Object(refused.schemas), {
      description: 'The sign-ins that the answering process refused in the last day, by reason and network, the latest first.',
    }),
    ({ refusals }) => refusals.map(refused.read),
  ],
  refused_since: [time, ({ since }) => since],
})

const foundSchema = nameSchema('FoundWallet', Type.Object(found.schemas))
const walletDetails = nameSchema('Wallet', Type.Object(details.schemas))

const walletRecordKind: RecordKind = {
  name: 'wallets',
  noun: 'wallet',
  words: 'Wallets that have signed in or ended something',
  schemas: [foundSchema, walletDetails],
  scope: 'admin.grants',
  settings: 'grants',
  idName: 'wallet',
  displays: [column('WALLET', 'wallet')],
  empty: 'No wallet that has signed in begins with these digits.',
}
const { list } = operationsOn(walletRecordKind)

export type FoundWallet = ReturnType<typeof found.read>
export type WalletDetails = ReturnType<typeof details.read>

export const findWallets = list<{ search: string }, FoundWallet>({
  id: 'findWallets',
  verb: 'find',
  summary: 'Finds wallets by the beginning of their address, or one wallet by its ENS name.',
  description: `The beginning has at least ${DIGITS_AT_LEAST} digits after \`0x\`, in capitals or not. A name is looked up if GRANTOR_ENS_NAMES is on, and is found whether or not the wallet has signed in.`,
  input: [
    {
      name: 'search',
      shape: { kind: 'text' },
      required: true,
      longest: 100,
      words: 'The beginning of an address, or a name such as `alice.eth`.',
      label: 'Beginning of an address',
      option: { value: 'TEXT', isOperand: true, words: 'The beginning of an address, such as 0xf39f.' },
    },
  ],
  isPaged: true,
  command: {
    about: `Prints the wallets that have signed in and whose address begins with these digits: 0x and at least ${DIGITS_AT_LEAST} digits, in capitals or not. A server with GRANTOR_ENS_NAMES also finds a name: in its console, and with GET /v1/wallets.`,
    examples: ['0xf39f'],
  },
  async run({ service, input, page }) {
    const search = input.search.trim().toLowerCase()
    if (search.includes('.')) return { output: { items: await walletNamed(service, search), next: null } }
    if (!PREFIX.test(search))
      throw invalid([
        { member: 'search', words: `search must be 0x and at least ${DIGITS_AT_LEAST} hexadecimal digits, or a name.` },
      ])
    const { items, next } = await readPage<string, string>(
      page,
      (limit, after = '') => service.store.wallets.findWallets({ prefix: search, limit, after }),
      (wallet) => wallet,
    )
    return { output: { items: items.map((wallet) => found.read({ wallet })), next } }
  },
})

export const getWallet = defineServerOperation<Members, WalletDetails>({
  id: 'getWallet',
  subject: walletRecordKind.name,
  kind: 'get',
  verb: 'show',
  scope: 'admin.read',
  summary: 'Reads why sign-ins of a wallet were refused lately.',
  description:
    'The refusals are in the memory of the process that answers, so each node has its own. They are kept for a day, within a bound: 20 for each network of callers, 5,000 in all.',
  // The refusals are in the memory of a server.
  needs: 'server',
  answers: { done: 'The wallet.' },
  output: refTo(walletDetails),
  command: null,
  async run({ service, id }) {
    const wallet = walletOf(id)
    const { refusals, since } = service.refusedSignIns(wallet)
    return { output: details.read({ wallet, refusals, since }) }
  },
})

async function walletNamed({ findName }: Service, name: string): Promise<FoundWallet[]> {
  const answer = await findName(name)
  switch (answer.kind) {
    case 'address':
      return [found.read({ wallet: answer.address })]
    case 'none':
      return []
    case 'off':
      throw conflict('Names are looked up only by a server with GRANTOR_ENS_NAMES.')
    case 'unavailable':
      throw conflict('The name could not be looked up: the endpoints of Ethereum do not respond or contradict each other.')
  }
}

export const wallets: Subject = { ...walletRecordKind, operations: [findWallets, getWallet] }
