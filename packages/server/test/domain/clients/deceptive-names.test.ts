import { expect, test } from 'vitest'
import { nameWarnings, skeletonOf } from '../../../src/domain/clients/deceptive-names.ts'

const AURORA = { id: 'a', name: 'Aurora Notes', skeleton: skeletonOf('Aurora Notes') }
const warned = (name: string) => nameWarnings({ id: 'b', name }, { platform: 'Harbour Pay', others: [AURORA] })

test.each(['aurora-notes', 'Aurora N0tes', 'Аurоrа Notes', 'Αυrora Notes', 'ᴬurora Notes', 'Áurora Nötes', 'Aurora Notes!'])(
  'An operator reads that the name %j looks like that of another client',
  (name) => {
    expect(warned(name)).toContain('The name looks like that of the client Aurora Notes (a).')
  },
)

test.each(['Harbour Pay support', 'HARB0UR-PAY', 'Наrbоur Pay'])(
  'An operator reads that the name %j looks like that of the platform',
  (name) => {
    expect(warned(name)).toContain('The name looks like that of the platform, Harbour Pay.')
  },
)

test('An operator reads that a word of a name has letters of several alphabets', () => {
  expect(warned('Qu\u0430rry')).toEqual([
    'A word of the name has letters of several alphabets, so the name can look like another one.',
  ])
})

test.each(['Aurora', 'Заметки Aurora', '写真 Photo', 'カメラapp', 'Αθήνα', 'Harbour', 'Notes of Aurora', '🙂'])(
  'The name %j is usual',
  (name) => {
    expect(warned(name)).toEqual([])
  },
)

test('A client is not compared with itself', () => {
  expect(nameWarnings(AURORA, { platform: 'Harbour Pay', others: [AURORA] })).toEqual([])
})

test('Names of one plan are compared with each other, and take the place of the stored names', () => {
  const planned = new Map([AURORA, { id: 'b', name: 'AURORA NOTES', skeleton: AURORA.skeleton }].map((row) => [row.id, row]))
  const others = [
    { id: 'c', name: 'Tide', skeleton: skeletonOf('Tide') },
    { ...AURORA, name: 'Old' },
  ]
  const compared = { platform: 'Harbour Pay', others, planned }
  expect(nameWarnings({ id: 'b', name: 'AURORA NOTES' }, compared)).toEqual([
    'The name looks like that of the client Aurora Notes (a).',
  ])
  const renamed = new Map([['c', { id: 'c', name: 'Sea', skeleton: skeletonOf('Sea') }]])
  expect(nameWarnings({ id: 'b', name: 'Tide' }, { ...compared, planned: renamed })).toEqual([])
})
