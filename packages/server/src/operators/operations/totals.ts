/** Totals over all nodes: clients, grants, active wallets and sign-ins. */
import { KEPT } from '../../domain/activity/activity-counter.ts'
import { type ActivityTotals, readActivityTotals } from '../../domain/activity/activity-totals.ts'
import type { GrantCount } from '../../domain/model/operator-store.ts'
import type { Shown } from '../members/member.ts'
import { Type } from './json-schema.ts'
import type { RecordKind, Subject } from './operation.ts'
import { fieldsOf, nameSchema } from './schemas.ts'
import { operationsOn } from './standard.ts'
import { number } from './words.ts'

/** Counting more rows takes long on SQLite, during which no other statement runs. */
const GRANTS_COUNTED_AT_MOST = 10_000
const USUAL_DAYS = 30

type Totals = ActivityTotals & { clients: number; grants: GrantCount }

const fields = fieldsOf<Totals>()({
  clients: [Type.Integer({ description: 'The registered clients.' }), ({ clients }) => clients],
  grants: [
    Type.Object(
      { number: Type.Integer(), kind: Type.Enum(['exact', 'estimate', 'at_least']) },
      {
        description:
          'The stored grants. A grant that ended is stored for about a day. `estimate`: the number that the database assumes. `at_least`: there are more.',
      },
    ),
    ({ grants }) => grants,
  ],
  active_wallets: [
    Type.Object(
      { day: Type.Integer(), thirty_days: Type.Integer() },
      {
        description:
          'Distinct wallets that signed in, or for which an app got tokens, in the last 24 hours and on the last 30 days (UTC). The standard error of the estimate is 1.6 %.',
      },
    ),
    ({ activeWallets: { day, thirtyDays } }) => ({ day, thirty_days: thirtyDays }),
  ],
  sign_ins: [
    Type.Array(Type.Object({ day: Type.String({ description: 'Of UTC, as in 2026-11-26.' }), sign_ins: Type.Integer() }), {
      description: 'The oldest day first. The last day is today.',
    }),
    ({ signIns }) => signIns.map(({ day, signIns: count }) => ({ day, sign_ins: count })),
  ],
})

const totalKind: RecordKind = {
  name: 'totals',
  noun: 'totals',
  words: 'Totals over all nodes',
  schemas: [nameSchema('Totals', Type.Object(fields.schemas))],
  scope: 'admin.read',
  settings: 'grants',
  idName: '',
  empty: 'There are no totals.',
  displays: [
    { label: 'clients', print: 'clients', shown: ({ clients }) => number(clients as number) },
    { label: 'grants', print: 'grants', shown: ({ grants }) => grantsText(grants as GrantCount) },
    {
      label: 'active wallets, 24 hours',
      print: 'active wallets, 24 hours',
      shown: (totals) => aboutText((totals as TotalsRecord).active_wallets.day),
    },
    {
      label: 'active wallets, 30 days',
      print: 'active wallets, 30 days',
      shown: (totals) => aboutText((totals as TotalsRecord).active_wallets.thirty_days),
    },
    { label: 'sign-ins', print: 'sign-ins', shown: (totals) => signInLines(totals as TotalsRecord) },
  ],
}

export type TotalsRecord = ReturnType<typeof fields.read>

/** "1,204", "about 300,000,000", "10,000 or more". */
export function grantsText({ number: count, kind: how }: GrantCount): string {
  if (how === 'estimate') return `about ${number(count)}`
  return how === 'at_least' ? `${number(count)} or more` : number(count)
}

/** Small estimates are nearly exact. */
export function aboutText(count: number): string {
  return count < 100 ? number(count) : `about ${number(count)}`
}

function signInLines({ sign_ins: signIns }: TotalsRecord): Shown {
  return { lines: signIns.map(({ day, sign_ins: count }) => `${day}  ${number(count)}`) }
}

export const getTotals = operationsOn(totalKind).get<TotalsRecord>({
  id: 'getTotals',
  path: '',
  summary: 'Reads the totals over all nodes: clients, grants, active wallets, and sign-ins of each day.',
  description:
    'Each node adds what it counted to the store once a minute. A node that is killed loses what it counted since then.',
  input: [
    {
      name: 'days',
      shape: { kind: 'integer', minimum: 1, maximum: KEPT.days },
      words: `The days of \`sign_ins\`; ${USUAL_DAYS} unless given.`,
      option: {
        value: 'N',
        words: `The number of days whose sign-ins are shown: ${USUAL_DAYS} unless given, at most ${KEPT.days}.`,
      },
    },
  ],
  answers: { done: 'The totals.' },
  command: { examples: ['', '--days 7 --json'] },
  async run({ service: { store, now }, input: { days } }) {
    const [clients, grants, activity] = await Promise.all([
      store.clients.countClients(),
      store.grants.countGrants(GRANTS_COUNTED_AT_MOST),
      readActivityTotals(store.activity, { at: now(), days: typeof days === 'number' ? days : USUAL_DAYS }),
    ])
    return { output: fields.read({ clients, grants, ...activity }) }
  },
})

export const totals: Subject = { ...totalKind, operations: [getTotals] }
