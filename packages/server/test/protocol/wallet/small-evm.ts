/**
 * The few instructions of the key check, on a chain whose accounts may have code that today's EVMs refuse to store: the codes of drafts.
 * `packages/server/test/protocol/wallet/own-key.test.ts` compares the results with those of a complete EVM.
 */
import { digits } from '../../support/wallet-contracts.ts'

type Chain = { chainId: number; codeAt(address: string): string }

/** Runs init code, and returns what the code returns. Throws at an instruction that the check does not need. */
export function runInitCode(initCode: string, { chainId, codeAt }: Chain): string {
  const code = Buffer.from(digits(initCode), 'hex')
  const memory = Buffer.alloc(64)
  const stack: bigint[] = []
  const pop = (): bigint => {
    const top = stack.pop()
    if (top === undefined) throw new Error('the stack is empty')
    return top
  }
  const take = (): number => Number(pop())
  const codeOf = (address: bigint): Buffer => Buffer.from(digits(codeAt(`0x${address.toString(16).padStart(40, '0')}`)), 'hex')
  const truth = (value: boolean): bigint => (value ? 1n : 0n)

  for (let at = 0; at < code.length; at++) {
    const instruction = code[at] ?? 0
    if (instruction >= 0x60 && instruction <= 0x7f) {
      const size = instruction - 0x5f
      stack.push(BigInt(`0x${code.subarray(at + 1, at + 1 + size).toString('hex')}`))
      at += size
      continue
    }
    switch (instruction) {
      case 0x14:
        stack.push(truth(pop() === pop()))
        break
      case 0x15:
        stack.push(truth(pop() === 0n))
        break
      case 0x16:
        stack.push(pop() & pop())
        break
      case 0x17:
        stack.push(pop() | pop())
        break
      case 0x1b: {
        const shift = pop()
        stack.push((pop() << shift) % 2n ** 256n)
        break
      }
      case 0x3b:
        stack.push(BigInt(codeOf(pop()).length))
        break
      case 0x3c: {
        const account = pop()
        const [to, from, size] = [take(), take(), take()]
        memory.fill(0, to, to + size)
        codeOf(account).copy(memory, to, from, from + size)
        break
      }
      case 0x46:
        stack.push(BigInt(chainId))
        break
      case 0x51: {
        const from = take()
        stack.push(BigInt(`0x${memory.subarray(from, from + 32).toString('hex')}`))
        break
      }
      case 0x53: {
        const to = take()
        memory[to] = Number(pop() & 0xffn)
        break
      }
      case 0xf3: {
        const [from, size] = [take(), take()]
        return `0x${memory.subarray(from, from + size).toString('hex')}`
      }
      default:
        throw new Error(`the instruction 0x${instruction.toString(16)} is not known`)
    }
  }
  return '0x'
}
