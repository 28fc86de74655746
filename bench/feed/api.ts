/** The API that reads the feed. */
import { registerApi } from '../servers/register.ts'
import type { Target } from '../target.ts'

/** The build and the folder of a run. */
export type Place = { home: string; folder: string }

/** The options of `createTokenCheck`. */
export type ApiOptions = { issuer: string; audience: string; introspection: { clientId: string; clientSecret: string } }

/** Registers the API as its owner does, for the resource of the tokens of the bench. */
export async function optionsOfApi(target: Target): Promise<ApiOptions> {
  const issuer = `http://localhost:${target.port}`
  const { id: clientId, secret: clientSecret } = await registerApi(target)
  return { issuer, audience: issuer, introspection: { clientId, clientSecret } }
}
