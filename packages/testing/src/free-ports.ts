import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** Different ports that were free a moment ago. Another program can take a port before the caller does, so the caller must retry. */
export async function freePorts(host: string, count: number): Promise<number[]> {
  // All are bound together before any is released.
  const holders = Array.from({ length: count }, () => createServer().listen(0, host))
  await Promise.all(holders.map((holder) => once(holder, 'listening')))
  const ports = holders.map((holder) => (holder.address() as AddressInfo).port)
  await Promise.all(holders.map((holder) => once(holder.close(), 'close')))
  return ports
}
