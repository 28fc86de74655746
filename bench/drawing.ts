/** An API whose scope has a limit, and draws from limits that wallets have signed. */
import { requireStatus, type Work } from './load/work.ts'
import { formPost } from './request.ts'
import { registerClient } from './servers/register.ts'
import { eachAtOnce } from './servers/supply.ts'
import type { Target } from './target.ts'

const RESOURCE = 'https://purse.example.com/'
const REDIRECT_URI = 'https://app.example.net/callback'
/** As many uses as a user can sign. */
const LIMIT = 'at most 10000 times a day, 50.00 NESO each, 9999999.00 a day'

/** Draws from each of `grants` in turn, each time with a new key. */
export async function drawing(target: Target, grants: number): Promise<Work> {
  const { authorization, tokens } = await signLimits(target, grants)
  let index = 0
  return {
    next() {
      const token = tokens[index % tokens.length] ?? ''
      return formPost('/oauth/draw', authorization, { token, key: `draw-${index++}`, amount: '450' })
    },
    accept: (answer) => requireStatus(answer, 200, 'draw'),
  }
}

/** `authorization`: of the API. `tokens`: of as many grants, each with a limit of its own. */
async function signLimits(target: Target, grants: number): Promise<{ authorization: string; tokens: string[] }> {
  const { run, signIn, name, port, paths } = target
  if (!run || !signIn) throw new Error(`${name} has no limits`)
  const resources = JSON.parse(await run(['resources', 'list', '--json'])) as { resource: string }[]
  if (!resources.some(({ resource }) => resource === RESOURCE))
    await run(['resources', 'create', RESOURCE, '--name', 'Purse', '--scope', `spend=spend for you | ${LIMIT}`])
  const api = await registerClient(target, '--name', 'Purse', '--resource-server', RESOURCE)
  const app = await registerClient(
    target,
    '--name',
    'Limited',
    '--redirect-uri',
    REDIRECT_URI,
    '--scope',
    'spend',
    '--resource',
    RESOURCE,
  )
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: app.id,
    redirect_uri: REDIRECT_URI,
    scope: 'spend',
    resource: RESOURCE,
  })
  const tokens = await eachAtOnce(grants, async () => {
    const { to } = await signIn(`${paths.authorize}?${query.toString()}`)
    const response = await fetch(`http://127.0.0.1:${port}${paths.token}`, {
      method: 'POST',
      headers: { authorization: app.authorization },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: new URL(to).searchParams.get('code') ?? '',
        redirect_uri: REDIRECT_URI,
      }),
    })
    const answer = (await response.json()) as { access_token?: string; error?: string }
    if (answer.access_token === undefined) throw new Error(`the code of a limit was answered ${response.status} ${answer.error}`)
    return answer.access_token
  })
  return { authorization: api.authorization, tokens }
}
