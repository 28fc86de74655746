/** The table of reasons is closed: what it does not hold does not compile (`npm run check:types`). */
import { expect, expectTypeOf, test } from 'vitest'
import { oauthErrors, type PageReason, pageReasons, type Reason, type ReasonOf } from '../../src/oauth/reasons.ts'

test('a reason without a row is no reason, and a reason of another error is none of this one', () => {
  expectTypeOf<'code_replayed'>().toExtend<ReasonOf<'invalid_grant'>>()
  expectTypeOf<'code_replayd'>().not.toExtend<Reason>()
  expectTypeOf<'secret_wrong'>().not.toExtend<ReasonOf<'invalid_grant'>>()
  expectTypeOf<string>().not.toExtend<Reason>()
})

test('a row of PARAMETER stands for the parameters of the service, and for no other name', () => {
  expectTypeOf<'code_missing'>().toExtend<ReasonOf<'invalid_request'>>()
  expectTypeOf<'client_id_repeated'>().toExtend<PageReason>()
  expectTypeOf<'PARAMETER_missing'>().not.toExtend<Reason>()
  expectTypeOf<'cod_missing'>().not.toExtend<Reason>()
})

test('a reason is at most 64 characters of a to z, digits and underscores, so it is safe in a log and in a metric', () => {
  const names = [...Object.values(oauthErrors).flatMap(({ reasons }) => Object.keys(reasons)), ...Object.keys(pageReasons)]
  for (const name of names) expect(name.replace('PARAMETER', 'parameter')).toMatch(/^[a-z][a-z0-9_]{2,63}$/)
})
