/** The part of oidc-provider that the bench uses; the package brings no types. */
declare module 'oidc-provider' {
  import type { Server } from 'node:http'

  type Payload = Record<string, unknown>

  export type Adapter = {
    upsert(id: string, payload: Payload, expiresIn: number): Promise<void>
    find(id: string): Promise<Payload | undefined>
    findByUid(uid: string): Promise<Payload | undefined>
    findByUserCode(userCode: string): Promise<Payload | undefined>
    consume(id: string): Promise<void>
    destroy(id: string): Promise<void>
    revokeByGrantId(grantId: string): Promise<void>
  }

  export type ResourceServerInfo = {
    scope: string
    audience: string
    accessTokenTTL: number
    accessTokenFormat: 'jwt' | 'opaque'
    jwt?: { sign: { alg: string } }
  }

  export type Configuration = {
    adapter: (model: string) => Adapter
    findAccount: (context: unknown, id: string) => { accountId: string; claims(): Payload }
    features: Record<string, Payload> & {
      resourceIndicators: {
        enabled: boolean
        defaultResource: () => string
        useGrantedResource: () => boolean
        getResourceServerInfo: (context: unknown, resource: string) => ResourceServerInfo
      }
    }
  } & Record<string, unknown>

  class Token {
    constructor(payload: Payload)
    save(): Promise<string>
  }

  class Grant extends Token {
    addResourceScope(resource: string, scope: string): void
  }

  class AccessToken extends Token {
    resourceServer: object
  }

  class Session {
    loginAccount(details: { accountId: string }): void
    ensureClientContainer(clientId: string): void
    grantIdFor(clientId: string, grantId: string): void
    save(lifetime: number): Promise<string>
  }

  export class Provider {
    constructor(issuer: string, configuration: Configuration)
    readonly Grant: typeof Grant
    readonly AuthorizationCode: typeof Token
    readonly RefreshToken: typeof Token
    readonly AccessToken: typeof AccessToken
    readonly Session: typeof Session
    readonly Client: { find(id: string): Promise<object | undefined> }
    readonly ResourceServer: new (
      identifier: string,
      info: ResourceServerInfo,
    ) => object
    listen(port: number, host: string, listening: () => void): Server
  }
}
