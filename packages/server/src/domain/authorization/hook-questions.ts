/** The questions to the operator's hook before a user's answer is stored: before a code is issued, and before a device is allowed. */
import type { AuthorizationRequest } from '../model/authorization-request.ts'
import type { Hook, HookPermission, HookQuestion } from '../model/deps.ts'
import type { DeviceRequest } from '../model/device-request.ts'
import type { Client } from '../model/records.ts'

export function askAboutCode(
  hook: Hook,
  client: Client,
  { scopes, resources }: Pick<AuthorizationRequest, 'scopes' | 'resources'>,
  account: HookQuestion['account'],
): Promise<HookPermission> {
  return hook.ask({ occasion: 'code', client, account, scopes, resources })
}

/** `scopes`: those that the user left on. */
export function askAboutDevice(
  hook: Hook,
  client: Client,
  { scopes, resources }: Pick<DeviceRequest, 'scopes' | 'resources'>,
  account: HookQuestion['account'],
): Promise<HookPermission> {
  return hook.ask({ occasion: 'device', client, account, scopes, resources })
}
