/** From the settings of a program to the settings of its parts. */
import type { Settings } from '../../config/settings.ts'
import type { Lifetimes, ServiceSettings } from '../../domain/model/deps.ts'
import { createKeyWrap } from '../../protocol/keys/key-wrap.ts'
import { readStandardSecret } from '../../protocol/keys/standard-webhook.ts'
import type { AuthServiceSettings } from './auth-service.ts'
import type { HookSettings } from './hook.ts'

/** `development`: the settings are those of `grantor start`, whose clients and login server are on this machine. */
export function authServiceSettings(
  settings: Settings<'serve' | 'start'>,
  { development }: { development: boolean },
): AuthServiceSettings {
  const { grantsPerWalletAndClient, sessionsPerWallet, loginSecret, loginSecretPrevious, trustedProxies } = settings
  const { clientMetadataHosts: hosts, clientMetadataBlockedHosts: blockedHosts } = settings
  return {
    service: serviceSettings(settings, development),
    keys: keySettings(settings),
    bounds: { grantsPerWalletAndClient, sessionsPerWallet },
    loginSecrets: [loginSecret, loginSecretPrevious].filter((secret) => secret !== undefined),
    trustedProxies,
    adminUrl: settings.adminUrl ?? null,
    clientMetadata: settings.clientMetadata ? { hosts, blockedHosts } : null,
    allowLoopback: development,
    hook: hookSettings(settings),
    auditDays: settings.auditDays,
    inForce: settings.inForce,
  }
}

/** Null if no hook is configured. */
export function hookSettings({
  hookUrl: url,
  hookSecret,
  hookSecretPrevious,
  hookTimeout: timeoutMs,
}: Settings<'serve' | 'start'>): HookSettings | null {
  if (url === undefined) return null
  const secrets = [hookSecret, hookSecretPrevious].filter((secret) => secret !== undefined).map(readStandardSecret)
  return { url, secrets, timeoutMs }
}

/** How keys are made, wrapped and rotated. */
export function keySettings(settings: Settings<'keys'>): AuthServiceSettings['keys'] {
  return {
    wrap: createKeyWrap(settings.secret, settings.secretPrevious),
    signingAlgorithm: settings.signingAlg,
    rotateAfter: settings.keyRotationDays * 86_400,
    lifetimes: lifetimes(settings),
  }
}

function serviceSettings(settings: Settings<'serve' | 'start'>, development: boolean): ServiceSettings {
  const { authUrl, loginUrl, defaultResource, chainIds, crossDevice, dpopNonce, scopeDescriptions } = settings
  // The development login accepts any address; its login server runs in the same process.
  const loginMayVouch = settings.loginMayVouch || (development && settings.devWallet)
  const { clientMetadata } = settings
  const dynamicRegistration = settings.dynamicRegistration
    ? { schemes: settings.registrationSchemes, token: settings.registrationToken }
    : null
  const facts = {
    clientMetadata,
    dynamicRegistration,
    authUrl,
    loginUrl,
    defaultResource,
    chainIds,
    loginMayVouch,
    crossDevice,
    dpopNonce,
    scopeDescriptions,
  }
  return { ...facts, lifetimes: lifetimes(settings) }
}

export function lifetimes(settings: Settings): Lifetimes {
  return {
    accessToken: settings.accessTokenLifetime,
    code: settings.codeLifetime,
    refreshIdle: settings.refreshIdleLifetime,
    grant: settings.refreshLifetime,
    longest: {
      accessToken: settings.accessTokenLifetimeMax ?? settings.accessTokenLifetime,
      refreshIdle: settings.refreshLifetimeMax ?? settings.refreshIdleLifetime,
      grant: settings.refreshLifetimeMax ?? settings.refreshLifetime,
    },
    refreshRetryWindow: settings.refreshRetryWindow,
    refreshRetryWindowPublic: settings.refreshRetryWindowPublic,
    sessionIdle: settings.sessionIdleLifetime,
    session: settings.sessionLifetime,
    contractGrace: settings.contractGrace,
  }
}
