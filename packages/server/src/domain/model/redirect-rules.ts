/** The rules for the redirect URIs of a client, by its kind. */
import { isUnregistered } from '../../protocol/oauth/client-id-url.ts'
import type { PortRule, SchemeRule } from '../../protocol/oauth/redirect-uri.ts'
import type { Client } from './records.ts'

/** RFC 8252 §7.3. A client that no operator registered may be an app on the device, also if it authenticates. */
export function portRuleOf({ id, type }: Pick<Client, 'id' | 'type'>): PortRule {
  return type === 'native' || isUnregistered(id) ? 'any_on_loopback' : 'exact'
}

export function schemeRuleOf({ type }: Pick<Client, 'type'>): SchemeRule {
  return type === 'native' ? 'private_use' : 'web'
}
