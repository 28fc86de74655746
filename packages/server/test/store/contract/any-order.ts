/**
 * Arbitrary sequences of operations on a few grants, by any client, at any time, on two nodes. Each outcome must equal the
 * model's.
 */
import { randomUUID } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EndReason } from '../../../src/domain/model/records.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { forAllAsync } from '../../support/property.ts'
import { LedgerModel } from './ledger-model.ts'
import { endAll, NOW, newGrant, rotationOf, type Subject, someWallet } from './subject.ts'

const index = (size: number) => fc.nat({ max: size - 1 })
const attempts = fc.constantFrom('attempt-0', 'attempt-1', 'attempt-2')
const reasons = fc.constantFrom<EndReason>('revoked', 'operator', 'code_replayed', 'epoch_raised')
// Times around the end of a retry window, of an idle time and of a token's lifetime, in any order.
const times = fc.constantFrom(0, 0, 1, 9, 10, 59, 60, 599, 600, 1200).map((after) => NOW + after)
const scopes = fc.oneof({ weight: 8, arbitrary: fc.constant<string[]>([]) }, fc.subarray(['enhancement', 'profile', 'admin']))
const resources = fc.oneof(
  { weight: 8, arbitrary: fc.constant<string[]>([]) },
  fc.subarray(['https://api.example.com/', 'https://b.example.com/']),
)

const seldom = <Value>(of: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: of })

const moves = fc.oneof(
  { weight: 2, arbitrary: fc.record({ move: fc.constant('redeem' as const), grant: index(4), attempt: attempts, at: times }) },
  { weight: 1, arbitrary: fc.record({ move: fc.constant('spend' as const), grant: index(4), attempt: attempts, at: times }) },
  {
    weight: 20,
    arbitrary: fc.record({
      move: fc.constant('rotate' as const),
      grant: index(4),
      client: seldom(index(2)),
      // mostly the current token, sometimes the previous one, an older one, or one that was never stored
      behind: fc.constantFrom(...Array.from({ length: 24 }, (_, each) => (each < 14 ? 0 : each < 21 ? 1 : each < 23 ? 2 : -1))),
      attempt: fc.oneof({ weight: 1, arbitrary: attempts }, { weight: 2, arbitrary: fc.uuid() }),
      retryWindow: fc.constantFrom(0, 10, 60, 600),
      refreshExpiresAt: fc.constantFrom(600, 1200, 90 * 86_400).map((after) => NOW + after),
      scopes,
      clientScopes: fc.constantFrom<string[]>(['enhancement', 'profile'], ['enhancement', 'profile'], ['profile'], ['admin'], []),
      resources,
      walletChecked: fc.boolean(),
      onlyChecks: seldom(fc.constant(true)).map((each) => each ?? false),
      dpopJkt: fc.constantFrom('key-1', 'key-1', null, 'key-2'),
      at: times,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      move: fc.constant('end' as const),
      grant: index(4),
      client: fc.option(index(2)),
      reason: reasons,
      at: times,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      move: fc.constant('revoke' as const),
      grant: index(4),
      client: seldom(index(2)),
      jti: index(3),
      expiresAt: times,
      at: times,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      move: fc.constant('end all' as const),
      wallet: fc.option(index(2)),
      client: index(2),
      reason: reasons,
      at: times,
    }),
  },
)
type Move = typeof moves extends fc.Arbitrary<infer Value> ? Value : never

export function anyOrderContract(subject: Subject): void {
  test('In any sequence of operations on two nodes, every outcome and every row equals the outcome and the row of a model', () =>
    forAllAsync(fc.array(moves, { minLength: 5, maxLength: 30, size: 'max' }), async (sequence) => {
      const world = newWorld()
      const model = new LedgerModel()
      const born = [0, 1, 2].map((grant): Move => ({ move: 'redeem', grant, attempt: 'attempt-0', at: NOW }))
      for (const [step, move] of [...born, ...sequence].entries()) {
        const node = subject().nodes[step % 2 === 0 ? 0 : 1]
        const generations = world.grants.map(({ id }) => model.readGrant(id)?.generation ?? 0)
        // The model returns values and the store promises; `await` accepts both.
        expect(await play(node.grants, move, world, generations)).toEqual(await play(model, move, world, generations))
        for (const { id } of world.grants) expect(await node.grants.readGrant(id)).toEqual(model.readGrant(id))
      }
    }))
}

/** Four grants of two wallets and two clients. None of them is stored yet. */
function newWorld() {
  const wallets = [someWallet(), someWallet()]
  const clients: string[] = [randomUUID(), randomUUID()]
  const [resources, expiresAt] = [['https://api.example.com/'], NOW + 86_400]
  const grants = [0, 1, 2, 3].map((each) =>
    newGrant({
      wallet: wallets[each < 2 ? 0 : 1] ?? '0x',
      clientId: clients[each % 2] ?? '',
      walletKind: each === 2 ? 'contract' : 'ordinary',
      dpopJkt: each === 1 ? 'key-1' : null,
      resources,
      expiresAt,
      refreshExpiresAt: NOW + 1000,
    }),
  )
  return { wallets, clients, grants }
}

async function play(
  ledger: LedgerModel | Store['grants'],
  move: Move,
  { wallets, clients, grants }: ReturnType<typeof newWorld>,
  generations: number[],
) {
  if (move.move === 'end all') {
    const clientId = clients[move.client] ?? ''
    const of = move.wallet === null ? { clientId } : { wallet: wallets[move.wallet] ?? '0x' }
    return ledger instanceof LedgerModel
      ? ledger.endGrants(of, move.reason, move.at)
      : endAll({ grants: ledger }, of, move.reason, move.at)
  }
  const grant = grants[move.grant] ?? newGrant()
  switch (move.move) {
    case 'redeem':
      return ledger.redeemCode(grant, move.attempt, move.at)
    case 'spend':
      return ledger.spendCode(grant, move.attempt, move.at)
    case 'end':
      return ledger.endGrant(grant.id, move.reason, move.at, move.client === null ? undefined : clients[move.client])
    case 'revoke':
      return ledger.revokeAccessToken({
        grantId: grant.id,
        clientId: move.client === null ? grant.clientId : (clients[move.client] ?? ''),
        jti: `jti-${move.jti}`,
        expiresAt: move.expiresAt,
        at: move.at,
      })
    case 'rotate': {
      const {
        retryWindow,
        refreshExpiresAt,
        scopes,
        clientScopes,
        resources,
        walletChecked,
        onlyChecks,
        dpopJkt,
        at,
        attempt: attemptId,
      } = move
      const clientId = move.client === null ? grant.clientId : (clients[move.client] ?? '')
      const request = {
        clientId,
        retryWindow,
        refreshExpiresAt,
        scopes,
        clientScopes,
        resources,
        walletChecked,
        onlyChecks,
        dpopJkt,
        at,
        attemptId,
      }
      return ledger.rotateRefreshToken(rotationOf(grant, (generations[move.grant] ?? 0) - move.behind, request))
    }
  }
}
