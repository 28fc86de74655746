import { isSummary } from '@grantor/protocol/approval'
import * as fc from 'fast-check'
import { APPROVAL_TEMPLATE, type ApprovalFields, composeApproval } from '../../../src/protocol/wallet/approval-message.ts'
import {
  addresses,
  authorities,
  chainIds,
  clientNames,
  drawnFrom,
  nonces,
  resourceUris,
  scopeLists,
  times,
} from './arbitraries.ts'
import { clientIds, shortFields } from './consent-example.ts'

/** A payment that a bank's API is about to carry out. */
export const approvalFields: ApprovalFields = {
  template: APPROVAL_TEMPLATE,
  domain: 'login.example.com',
  address: shortFields.address,
  chainId: 1,
  nonce: 'k3J9dQ0vXb2LmN8sTz5RaY',
  issuedAt: shortFields.issuedAt,
  clientId: shortFields.clientId,
  clientName: 'MyApp',
  resource: 'https://bank.example/',
  scope: 'payments.make',
  summary: 'Pay EUR 12.50 to Ada Lovelace (order #4711)',
  digest: 'uJpM7hSyI2R1KIu5-_Ls_5EM--sn-xdYs7v5lJDavLI',
  until: shortFields.issuedAt + 600,
}

/** The action with the digest in `approvalFields`. */
export const approvedAction = { to: 'Ada Lovelace', amount: '12.50', currency: 'EUR', order: 4711 }

export function composeAction(changes: Partial<ApprovalFields> = {}): string {
  const text = composeApproval({ ...approvalFields, ...changes })
  if (text === null) throw new Error('not this template')
  return text
}

/** Parts of the text and of its grammar, which a summary may imitate. */
const pieces = fc.constantFrom(
  ...` |  |(|)|)., |'|\n|.|x|0|%|"|<|é|, for |Once: |(words of bank.example)| (words of |the app of bank.example`.split('|'),
  " (calls itself 'Bank')",
  ' No gas, no transfer. ',
  'I further authorize the stated URI ',
  "(1) 'oauth': 'read' for 'urn:a'.",
  'URI: https://bank.example',
  'urn:recap:e30',
)

/** Any summary that the text can contain. */
export const summaries: fc.Arbitrary<string> = fc
  .oneof(
    drawnFrom('abcXYZ019 -._~!$&()*+,;=:/?#[]@', 1, 120),
    fc.array(pieces, { minLength: 1, maxLength: 12 }).map((chosen) =>
      chosen
        .join('')
        .replaceAll(/[^ !#$&(-;=?-[\]_a-z~]/g, '')
        .replaceAll(/ +/g, ' ')
        .slice(0, 120)
        .trim(),
    ),
  )
  .filter(isSummary)

/** Any text, also one that no summary may be. */
export const wouldBeSummaries: fc.Arbitrary<string> = fc.oneof(
  fc.array(pieces, { maxLength: 8 }).map((chosen) => chosen.join('')),
  fc.string({ unit: 'binary', maxLength: 130 }),
)

/** Any approval that an API can ask for. */
export const anyApproval: fc.Arbitrary<ApprovalFields> = fc.record({
  template: fc.constant(APPROVAL_TEMPLATE),
  domain: authorities,
  address: addresses,
  chainId: chainIds,
  nonce: nonces,
  issuedAt: times,
  clientId: clientIds,
  clientName: clientNames,
  resource: resourceUris,
  scope: scopeLists.filter((scopes) => scopes.length > 0).map(([scope = '']) => scope),
  summary: summaries,
  digest: drawnFrom('abcXYZ019-_', 43, 43),
  until: times,
})
