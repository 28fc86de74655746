import { expect, test } from 'vitest'
import { chains } from '../../src/config/chains.ts'
import { readSettings } from '../../src/config/settings.ts'

const mainnet = { name: 'Ethereum', rpc: ['https://a.example.com/v3/hidden-key', 'https://b.example.net/hidden-key'], home: true }
const base = { name: 'Base', rpc: ['https://c.example.com/hidden-key'], one_rpc: true }

function faultOf(setting: unknown): string {
  const parsed = chains(typeof setting === 'string' ? setting : JSON.stringify(setting))
  return 'fault' in parsed ? parsed.fault : 'none'
}

/** The fault of chain 1 with these members. */
function faultWith(members: Record<string, unknown>): string {
  return faultOf({ 1: { ...mainnet, ...members } })
}

test('GRANTOR_CHAINS accepts chains with a name and one or two RPCs, one of which is the home chain', () => {
  expect(chains(JSON.stringify({ 1: mainnet, 8453: base }))).toEqual({
    value: [
      { chainId: 1, name: 'Ethereum', rpc: mainnet.rpc, home: true },
      { chainId: 8453, name: 'Base', rpc: base.rpc, home: false },
    ],
  })
})

test('GRANTOR_CHAINS may be empty, because ordinary wallets need no chain', () => {
  expect(chains('{}')).toEqual({ value: [] })
})

test.each(['', '[]', 'null', '1', '"1"', '{"1":', 'https://rpc.example.com'])(
  'GRANTOR_CHAINS refuses a value that is not a JSON object: %s',
  (text) => {
    expect(faultOf(text)).toMatch(/^must be a JSON object from chain ids to chains, as in \{"1":/)
  },
)

test('GRANTOR_CHAINS refuses a value with no home chain or with two', () => {
  expect(faultOf({ 8453: base })).toBe('names no home chain: give exactly one chain "home":true')
  expect(faultOf({ 1: mainnet, 8453: { ...base, home: true } })).toContain('names 2 home chains (1, 8453)')
})

test.each(['0', '01', '1.5', '-1', '0x1', 'mainnet', '9999999999999999'])(
  'GRANTOR_CHAINS refuses a chain id that is not a positive whole number in decimal digits: %s',
  (id) => {
    expect(faultOf({ [id]: mainnet })).toContain('must be a chain id, as in "1"')
  },
)

test('A chain with one RPC is refused unless it sets "one_rpc" or its RPC is on loopback; two RPCs with "one_rpc" are refused', () => {
  const [one = ''] = mainnet.rpc
  expect(faultWith({ rpc: [one] })).toContain('has one RPC: name a second one of another operator, or set "one_rpc":true')
  expect(faultWith({ rpc: [one], one_rpc: true })).toBe('none')
  expect(faultWith({ rpc: ['http://127.0.0.1:8545'] })).toBe('none')
  expect(faultWith({ one_rpc: true })).toContain('has two RPCs and "one_rpc":true')
})

test('A chain with both RPCs on one host is refused; on loopback only the same port is refused', () => {
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

test('An RPC with plain http is refused, except on loopback', () => {
  expect(faultWith({ rpc: ['http://a.example.com/hidden-key'], one_rpc: true })).toContain(
    'the RPC at a.example.com must use https',
  )
  expect(faultWith({ rpc: ['http://[::1]:8545'] })).toBe('none')
})

test.each([
  ['text instead of a list', { rpc: 'https://a.example.com' }, '"rpc" must be a list of one or two URLs'],
  ['an empty list', { rpc: [] }, '"rpc" must be a list of one or two URLs'],
  ['three URLs', { rpc: [...mainnet.rpc, ...base.rpc] }, '"rpc" must be a list of one or two URLs'],
  ['a missing list', { rpc: undefined }, '"rpc" must be a list of one or two URLs'],
  ['entries that are not URLs', { rpc: ['a.example.com', 7] }, '"rpc" must hold URLs'],
  ['a URL of another scheme', { rpc: ['wss://a.example.com'] }, '"rpc" must hold URLs'],
  ['a URL with a password', { rpc: ['https://me:hidden@a.example.com'] }, 'must not have a user name or password'],
  ['a missing name', { name: undefined }, '"name" must be 1 to 40 printable ASCII characters'],
  ['an empty name', { name: '' }, '"name" must be'],
  ['a name in Cyrillic', { name: 'Эфириум' }, '"name" must be'],
  ['a name of 41 characters', { name: 'E'.repeat(41) }, '"name" must be'],
  ['home as text', { home: 'yes' }, '"home" must be true or false'],
  ['one_rpc as text', { one_rpc: 'yes' }, '"one_rpc" must be true or false'],
  ['an unknown member', { rpcs: [] }, 'has the unknown member "rpcs"; use name, rpc, home, one_rpc'],
])('A chain with a wrong member is refused, and the fault names the chain and the member: %s', (_, members, fault) => {
  expect(faultWith(members)).toContain(`chain "1": ${fault.startsWith('must not') ? 'the RPC at a.example.com ' : ''}${fault}`)
})

test('A chain that is not a JSON object is refused, and the fault names the chain', () => {
  for (const entry of [null, [], 'https://rpc.example.com', 1])
    expect(faultOf({ 1: entry })).toContain('chain "1": must be an object')
})

test('All faults of all chains are reported at once, and no fault repeats more of a URL than its host', () => {
  const fault = faultOf({
    0: { ...mainnet, rpc: ['http://a.example.com/hidden-key'] },
    10: { ...base, name: '', rpc: ['https://me:hidden@b.example.com/hidden-key'] },
  })
  for (const part of ['must be a chain id', 'a.example.com must use https', '"name" must be', 'b.example.com must not have']) {
    expect(fault).toContain(part)
  }
  expect(fault).not.toContain('hidden')
})

test('GRANTOR_WALLET_WINDOW without a home chain is a fault of start, which reads both settings', () => {
  const faultsOf = (more: Record<string, string>): string[] => {
    const reading = readSettings('start', { GRANTOR_WALLET_WINDOW: 'https://keys.example.com/connect', ...more })
    return reading.kind === 'faults' ? reading.faults : []
  }
  const fault: unknown = expect.stringContaining('GRANTOR_WALLET_WINDOW needs GRANTOR_CHAINS')
  expect(faultsOf({})).toContainEqual(fault)
  expect(faultsOf({ GRANTOR_CHAINS: JSON.stringify({ 1: mainnet }) })).not.toContainEqual(fault)
})

test('GRANTOR_KEY_CHECK without a home chain is a fault, and off needs none', () => {
  const faultsOf = (more: Record<string, string>): string[] => {
    const reading = readSettings('serve', more)
    return reading.kind === 'faults' ? reading.faults : []
  }
  const fault: unknown = expect.stringContaining('GRANTOR_KEY_CHECK needs GRANTOR_CHAINS')
  expect(faultsOf({ GRANTOR_KEY_CHECK: 'on' })).toContainEqual(fault)
  expect(faultsOf({ GRANTOR_KEY_CHECK: 'off' })).not.toContainEqual(fault)
  expect(faultsOf({ GRANTOR_KEY_CHECK: 'on', GRANTOR_CHAINS: JSON.stringify({ 1: mainnet }) })).not.toContainEqual(fault)
})

test('A home chain that GRANTOR_CHAIN_IDS does not allow is a fault, if GRANTOR_CHAIN_IDS is set', () => {
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

test('GRANTOR_ENS_NAMES without chain 1 in GRANTOR_CHAINS is a fault', () => {
  const fault = 'GRANTOR_ENS_NAMES is on, but GRANTOR_CHAINS has no chain 1, whose contracts have the names'
  const faultsOf = (chains: object, ensNames: string) => {
    const reading = readSettings('serve', { GRANTOR_CHAINS: JSON.stringify(chains), GRANTOR_ENS_NAMES: ensNames })
    return reading.kind === 'faults' ? reading.faults : []
  }
  expect(faultsOf({}, 'on')).toContain(fault)
  expect(faultsOf({ 8453: { ...base, home: true } }, 'on')).toContain(fault)
  expect(faultsOf({}, 'off')).not.toContain(fault)
  expect(faultsOf({ 1: { ...mainnet, home: false }, 8453: { ...base, home: true } }, 'on')).not.toContain(fault)
})
