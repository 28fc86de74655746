/** Devices that wait for their user (RFC 8628). */
import { sendAll } from '../load/closed-loop.ts'
import { requireStatus } from '../load/work.ts'
import { networkOf, postFrom } from '../request.ts'
import type { Target } from '../target.ts'

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

let devices = 0

/** New requests of devices of this client, each from a network of its own, and a poll of each. */
export async function startDevices({ port, paths }: Target, clientId: string, count: number): Promise<string[]> {
  const polls: string[] = []
  let left = count
  const device = () => postFrom(networkOf(devices++), '/oauth/device_authorization', { client_id: clientId })
  await sendAll(port, {
    next: () => (left-- > 0 ? device() : undefined),
    accept(answer) {
      requireStatus(answer, 200, 'device authorization')
      const [, code = ''] = /"device_code":"([^"]+)"/.exec(answer.body) ?? []
      const fields = { client_id: clientId, grant_type: DEVICE_GRANT, device_code: code }
      polls.push(postFrom('192.0.2.1', paths.token, fields))
    },
  })
  return polls
}
