import { expect, test } from 'vitest'
import { OPERATORS_AT_MOST, operatorIdOf, removeOperator, setOperator } from '../../../src/domain/operators/operators.ts'
import { ADMIN_SCOPES, roleAllows } from '../../../src/domain/operators/roles.ts'
import { NOW, someWallet } from '../../store/contract/subject.ts'
import { openTwoNodes } from '../../store/sqlite-file.ts'

const owner = { id: someWallet(), role: 'owner', at: NOW } as const

test('The first operator must be an owner', async () => {
  const [store] = await openTwoNodes()
  const first = { id: someWallet(), role: 'operator', at: NOW } as const
  expect(await setOperator(store, first)).toEqual({ kind: 'refused', why: 'first_must_be_owner' })
  expect(await setOperator(store, owner)).toMatchObject({ kind: 'done', isNew: true })
  expect(await setOperator(store, first)).toMatchObject({ kind: 'done', isNew: true })
})

test('The last owner can be neither removed nor given another role', async () => {
  const [store] = await openTwoNodes()
  await setOperator(store, owner)
  expect(await removeOperator(store, owner.id)).toEqual({ kind: 'refused', why: 'last_owner' })
  expect(await setOperator(store, { ...owner, role: 'auditor' })).toEqual({ kind: 'refused', why: 'last_owner' })
  const second = { id: someWallet(), role: 'owner', at: NOW } as const
  await setOperator(store, second)
  expect(await removeOperator(store, owner.id)).toMatchObject({ kind: 'done' })
  expect(await store.lists.readList('operators')).toEqual([{ id: second.id, role: 'owner', createdAt: NOW }])
})

test('If two owners remove each other at the same moment, one owner is left', async () => {
  const nodes = await openTwoNodes()
  const ids = [someWallet(), someWallet()]
  for (const id of ids) await setOperator(nodes[0], { id, role: 'owner', at: NOW })
  const outcomes = await Promise.all(ids.map((id, n) => removeOperator(n === 0 ? nodes[0] : nodes[1], id)))
  expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['done', 'refused'])
})

test('A changed role keeps the time at which the operator was added', async () => {
  const [store] = await openTwoNodes()
  await setOperator(store, owner)
  const id = someWallet()
  await setOperator(store, { id, role: 'auditor', at: NOW })
  expect(await setOperator(store, { id, role: 'operator', at: NOW + 5 })).toEqual({
    kind: 'done',
    operator: { id, role: 'operator', createdAt: NOW },
    isNew: false,
  })
})

test('The number of operators is bounded', async () => {
  const [store] = await openTwoNodes()
  await store.lists.changeList('operators', () =>
    Array.from({ length: OPERATORS_AT_MOST }, () => ({ id: someWallet(), role: 'owner', createdAt: NOW }) as const),
  )
  expect(await setOperator(store, owner)).toEqual({ kind: 'refused', why: 'too_many' })
})

test('An operator is a wallet in its EIP-55 form or the id of a client, and nothing else', () => {
  expect(operatorIdOf('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')).toBe('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')
  expect(operatorIdOf('0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20')).toBe('0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20')
  expect(operatorIdOf('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92267')).toBeNull()
  expect(operatorIdOf('https://client.example.com/app')).toBeNull()
})

test('An owner has every scope, an operator every scope but admin.operators, and an auditor only those that change nothing', () => {
  const scopesOf = (role: 'owner' | 'operator' | 'auditor') => ADMIN_SCOPES.filter((scope) => roleAllows(role, scope))
  expect(scopesOf('owner')).toEqual(ADMIN_SCOPES)
  expect(scopesOf('operator')).toEqual([
    'admin.read',
    'admin.clients',
    'admin.grants',
    'admin.keys',
    'admin.audit',
    'admin.webhooks',
  ])
  expect(scopesOf('auditor')).toEqual(['admin.read', 'admin.audit'])
})
