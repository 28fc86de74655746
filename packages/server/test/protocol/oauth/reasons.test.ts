/** The table of reasons is a closed set: any other reason is a type error (`npm run check:types`). */
import { expect, expectTypeOf, test } from 'vitest'
import { oauthErrors, type PageReason, pageReasons, type Reason, type ReasonOf } from '../../../src/protocol/oauth/reasons.ts'

test('A reason that is not in the table is a type error, and so is a reason of another error', () => {
  expectTypeOf<'code_replayed'>().toExtend<ReasonOf<'invalid_grant'>>()
  expectTypeOf<'code_replayd'>().not.toExtend<Reason>()
  expectTypeOf<'secret_wrong'>().not.toExtend<ReasonOf<'invalid_grant'>>()
  expectTypeOf<string>().not.toExtend<Reason>()
})

test('The placeholder PARAMETER in a reason stands for a parameter of the service and for no other name', () => {
  expectTypeOf<'code_missing'>().toExtend<ReasonOf<'invalid_request'>>()
  expectTypeOf<'client_id_repeated'>().toExtend<PageReason>()
  expectTypeOf<'PARAMETER_missing'>().not.toExtend<Reason>()
  expectTypeOf<'cod_missing'>().not.toExtend<Reason>()
})

test('A reason has at most 64 characters of a to z, digits and underscores, so that it is safe in logs and metrics', () => {
  const names = [...Object.values(oauthErrors).flatMap(({ reasons }) => Object.keys(reasons)), ...Object.keys(pageReasons)]
  for (const name of names) expect(name.replace('PARAMETER', 'parameter')).toMatch(/^[a-z][a-z0-9_]{2,63}$/)
})
