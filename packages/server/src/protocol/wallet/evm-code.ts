/** Pieces of EVM code, as hexadecimal digits. */

/** Without PUSH0, which older chains do not support. */
export const op = {
  mul: '02',
  lt: '10',
  eq: '14',
  iszero: '15',
  and: '16',
  or: '17',
  byte: '1a',
  shl: '1b',
  codecopy: '39',
  extcodesize: '3b',
  extcodecopy: '3c',
  returndatasize: '3d',
  returndatacopy: '3e',
  chainid: '46',
  pop: '50',
  mload: '51',
  mstore8: '53',
  jumpi: '57',
  jumpdest: '5b',
  dup1: '80',
  call: 'f1',
  return: 'f3',
  staticcall: 'fa',
}

/** PUSHn: the number in `bytes` bytes. */
export function push(bytes: number, number: number): string {
  const digits = number.toString(16).padStart(bytes * 2, '0')
  if (digits.length !== bytes * 2) throw new RangeError(`the number ${number} needs more than ${bytes} bytes`)
  return (0x5f + bytes).toString(16) + digits
}

/** PUSH20. */
export function pushAddress(address: string): string {
  return `73${address.slice(2).toLowerCase()}`
}

export function sizeOf(digits: string): number {
  return digits.length / 2
}
