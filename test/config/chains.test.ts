import { expect, test } from 'vitest'
import { chains } from '../../src/config/chains.ts'
import { readSettings } from '../../src/config/settings.ts'

const mainnet = { name: 'Ethereum', rpc: ['https://a.example.com/v3/hidden-key', 'https://b.example.net/hidden-key'], home: true }
const base = { name: 'Base', rpc: ['https://c.example.com/hidden-key'], one_rpc: true }

function faultOf(setting: unknown): string {
  const parsed = chains(typeof setting === 'string' ? setting : JSON.stringify(setting))
  return 'fault' in parsed ? parsed.fault : 'none'
}

/** The fault of chain 1 when this member of it is so. */
function faultWith(members: Record<string, unknown>): string {
  return faultOf({ 1: { ...mainnet, ...members } })
}

test('a chain has a name, one or two RPCs, and may be home', () => {
  expect(chains(JSON.stringify({ 1: mainnet, 8453: base }))).toEqual({
    value: [
      { chainId: 1, name: 'Ethereum', rpc: mainnet.rpc, home: true },
      { chainId: 8453, name: 'Base', rpc: base.rpc, home: false },
    ],
  })
})

test('no chain at all is fine: ordinary wallets need none', () => {
  expect(chains('{}')).toEqual({ value: [] })
})

test.each(['', '[]', 'null', '1', '"1"', '{"1":', 'https://rpc.example.com'])('what is no JSON object is a fault: %s', (text) => {
  expect(faultOf(text)).toMatch(/^must be a JSON object from chain ids to chains, as in \{"1":/)
})

test('exactly one chain is home', () => {
  expect(faultOf({ 8453: base })).toBe('names no home chain: give exactly one chain "home":true')
  expect(faultOf({ 1: mainnet, 8453: { ...base, home: true } })).toContain('names 2 home chains (1, 8453)')
})

test.each(['0', '01', '1.5', '-1', '0x1', 'mainnet', '9999999999999999'])('a chain id is a whole number: %s', (id) => {
  expect(faultOf({ [id]: mainnet })).toContain('must be a chain id, as in "1"')
})

test('one RPC alone needs the word of the operator, except on loopback', () => {
  const [one = ''] = mainnet.rpc
  expect(faultWith({ rpc: [one] })).toContain('has one RPC: name a second one of another operator, or set "one_rpc":true')
  expect(faultWith({ rpc: [one], one_rpc: true })).toBe('none')
  expect(faultWith({ rpc: ['http://127.0.0.1:8545'] })).toBe('none')
  expect(faultWith({ one_rpc: true })).toContain('has two RPCs and "one_rpc":true')
})

test('two RPCs are of different hosts', () => {
  const same = 'https://a.example.com/other-key'
  for (const second of [
    same,
    same.toUpperCase(),
    'https://a.example.com:8443/',
    'https://a.example.com./',
    'https://a.example.com',
  ]) {
    expect(faultWith({ rpc: ['https://a.example.com/key', second] })).toContain('has both RPCs at a.example.com')
  }
  expect(faultWith({ rpc: ['http://localhost:8545', 'http://localhost:8546'] })).toBe('none')
  expect(faultWith({ rpc: ['http://localhost:8545', 'http://localhost:8545/b'] })).toContain('has both RPCs at localhost:8545')
})

test('an RPC is reached by https, except on loopback', () => {
  expect(faultWith({ rpc: ['http://a.example.com/hidden-key'], one_rpc: true })).toContain(
    'the RPC at a.example.com must use https',
  )
  expect(faultWith({ rpc: ['http://[::1]:8545'] })).toBe('none')
})

test.each([
  ['text instead of a list', { rpc: 'https://a.example.com' }, '"rpc" must be a list of one or two URLs'],
  ['an empty list', { rpc: [] }, '"rpc" must be a list of one or two URLs'],
  ['three URLs', { rpc: [...mainnet.rpc, ...base.rpc] }, '"rpc" must be a list of one or two URLs'],
  ['no list', { rpc: undefined }, '"rpc" must be a list of one or two URLs'],
  ['no URL', { rpc: ['a.example.com', 7] }, '"rpc" must hold URLs'],
  ['another scheme', { rpc: ['wss://a.example.com'] }, '"rpc" must hold URLs'],
  ['a password', { rpc: ['https://me:hidden@a.example.com'] }, 'must not have a user name or password'],
  ['no name', { name: undefined }, '"name" must be 1 to 40 printable ASCII characters'],
  ['an empty name', { name: '' }, '"name" must be'],
  ['a name of another script', { name: 'Эфириум' }, '"name" must be'],
  ['a long name', { name: 'E'.repeat(41) }, '"name" must be'],
  ['home in words', { home: 'yes' }, '"home" must be true or false'],
  ['one_rpc in words', { one_rpc: 'yes' }, '"one_rpc" must be true or false'],
  ['a member nobody reads', { rpcs: [] }, 'has the unknown member "rpcs"; use name, rpc, home, one_rpc'],
])('every other mistake has a clear line: %s', (_, members, fault) => {
  expect(faultWith(members)).toContain(`chain "1": ${fault.startsWith('must not') ? 'the RPC at a.example.com ' : ''}${fault}`)
})

test('what is no chain has a clear line', () => {
  for (const entry of [null, [], 'https://rpc.example.com', 1])
    expect(faultOf({ 1: entry })).toContain('chain "1": must be an object')
})

test('all faults of all chains are told at once, and none repeats more of a URL than its host', () => {
  const fault = faultOf({
    0: { ...mainnet, rpc: ['http://a.example.com/hidden-key'] },
    10: { ...base, name: '', rpc: ['https://me:hidden@b.example.com/hidden-key'] },
  })
  for (const part of ['must be a chain id', 'a.example.com must use https', '"name" must be', 'b.example.com must not have']) {
    expect(fault).toContain(part)
  }
  expect(fault).not.toContain('hidden')
})

test('the home chain is one that wallets may sign in on', () => {
  const GRANTOR_CHAINS = JSON.stringify({ 1: mainnet })
  const faultsOf = (more: Record<string, string>): string[] => {
    const reading = readSettings('serve', { GRANTOR_CHAINS, ...more })
    return reading.kind === 'faults' ? reading.faults : []
  }
  const fault = 'GRANTOR_CHAINS has the home chain 1, which GRANTOR_CHAIN_IDS does not allow'
  expect(faultsOf({ GRANTOR_CHAIN_IDS: '10,8453' })).toContain(fault)
  expect(faultsOf({ GRANTOR_CHAIN_IDS: '10,1' })).not.toContain(fault)
  expect(faultsOf({})).not.toContain(fault)
})
