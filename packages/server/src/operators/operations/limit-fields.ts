/** The limit of a grant as operators read it: what the wallet signed, and what was used of it. */
import type { Limit } from '@grantor/protocol/limit'
import type { LimitUse } from '../../domain/limits/use.ts'
import { writeAmount, writeLimit } from '../../protocol/wallet/limit-words.ts'
import { Type } from './json-schema.ts'
import { fieldsOf, time, timeOrNull } from './schemas.ts'
import { formatCount } from './words.ts'

export const integerOrNull = Type.Union([Type.Integer(), Type.Null()])

const counts = (description: string) =>
  Type.Object(
    { uses: Type.Integer(), amount: integerOrNull },
    { description: `${description} \`amount\` is null without amounts.` },
  )

const SIGNED = Type.Object(
  {
    uses: Type.Integer(),
    per: Type.Optional(Type.Enum(['day', 'week'])),
    unit: Type.Optional(Type.String()),
    decimals: Type.Optional(Type.Integer()),
    amount: Type.Optional(Type.Integer()),
    each: Type.Optional(Type.Integer()),
  },
  { description: 'Amounts are in the smallest step of the unit. Without `per`, the numbers are for the whole grant.' },
)

const fields = fieldsOf<LimitUse>()({
  scope: [Type.String(), ({ scope }) => scope],
  resource: [Type.String({ maxLength: 2000 }), ({ resource }) => resource],
  signed: [SIGNED, ({ limit }) => limit],
  signed_at: [time, ({ signedAt }) => signedAt],
  used: [counts('In the current period.'), ({ used }) => used],
  left: [counts('In the current period.'), ({ left }) => left],
  until: [timeOrNull, ({ until }) => until],
  draws: [Type.Integer({ description: 'The number of draws of the whole grant.' }), ({ draws }) => draws],
})

export const limitOrNull = Type.Union([Type.Object(fields.schemas), Type.Null()], {
  description: 'What the wallet signed of a limited scope, and what was used of it; null if no scope has a limit.',
})

export type LimitRecord = ReturnType<typeof fields.read>

export function limitRecord(use: LimitUse | null): LimitRecord | null {
  return use && fields.read(use)
}

/** `enhancement at https://api.example.com/: at most 20 times a week, 50.00 NESO each, 500.00 a week` */
export function signedWords({ scope, resource, signed }: LimitRecord): string {
  return `${scope} at ${resource}: ${writeLimit(signed)}`
}

/** `19 times, 455.00 NESO` */
export function countWords({ uses, amount }: LimitRecord['left'], signed: Limit): string {
  return [formatCount(uses, 'time'), ...(amount === null ? [] : [amountWords(signed, amount)])].join(', ')
}

/** `19 of 20 times, 455.00 of 500.00 NESO` */
export function leftWords({ signed, left }: LimitRecord): string {
  const { uses, amount } = signed
  const ofUses = `${left.uses} of ${formatCount(uses, 'time')}`
  return amount === undefined || left.amount === null
    ? ofUses
    : `${ofUses}, ${writeAmount(signed, left.amount)} of ${amountWords(signed, amount)}`
}

export function amountWords(limit: Pick<Limit, 'unit' | 'decimals'>, amount: number): string {
  return `${writeAmount(limit, amount)} ${limit.unit ?? ''}`.trim()
}
