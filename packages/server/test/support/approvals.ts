/** An API that asks a user to sign one action, by HTTP, and the user who answers in a browser. */
import { createHash } from 'node:crypto'
import { type App, startApp } from './app.ts'
import { send } from './send.ts'
import type { Grantor, StartOptions, TestClient } from './start.ts'
import { type Answer, basic, movingTo, parameterOf, type Walk } from './walk.ts'

export const API = 'https://api.example.com/'

export const digestOf = (action: string): string => createHash('sha256').update(action).digest('base64url')

export type Approval = {
  approval_id: string
  approval_uri: string
  user_code: string
  state: string
  expires_in: number
  interval: number
}
export type Receipt = { message: string; signature: string; address: string; chain_id: number }

export type Question = Partial<Record<'token' | 'scope' | 'key' | 'summary' | 'digest' | 'wait', string | string[]>>

/** An app with access to an API, and the client of that API. */
export type ApprovalApp = App & {
  api: TestClient
  /** a new access token for the API, of a new grant */
  freshToken(): Promise<string>
  /** sends a question about a new action; `more` replaces parameters */
  ask(token: string, more?: Question, api?: TestClient): Promise<Answer>
  /** the same; throws for a refusal */
  asked(token: string, more?: Question): Promise<Approval>
  use(approval: Pick<Approval, 'approval_id'>, attempt?: string, api?: TestClient): Promise<Answer>
  read(approval: Pick<Approval, 'approval_id'>, query?: string, api?: TestClient): Promise<Answer>
}

export async function startApprovalApp(options: StartOptions = {}): Promise<ApprovalApp> {
  const app = await startApp(options)
  return approvalAppOf(app, await createApi(app.grantor))
}

export function createApi(grantor: Grantor, more: object = {}): Promise<TestClient> {
  return grantor.createClient({ name: 'The API', redirectUris: [], resourceServer: API, ...more })
}

let actions = 0

export function approvalAppOf(app: App, api: TestClient): ApprovalApp {
  const { walk } = app
  const own: ApprovalApp = {
    ...app,
    api,
    async freshToken() {
      return (await app.freshTokens({ resource: API, scope: 'enhancement' })).access_token
    },
    ask(token, more = {}, by = api) {
      const key = `action-${++actions}`
      const question = { token, scope: 'enhancement', key, summary: `Enhance item ${actions}`, digest: digestOf(key), ...more }
      return walk.call('/oauth/approvals', by, question)
    },
    async asked(token, more) {
      const answer = await own.ask(token, more)
      if (answer.status !== 200) throw new Error(`the question was answered ${answer.status}: ${answer.body}`)
      return answer.json() as Approval
    },
    use: ({ approval_id }, attempt = 'first', by = api) => walk.call('/oauth/approvals/use', by, { approval_id, attempt }),
    read: ({ approval_id }, query = '', by = api) =>
      send(app.grantor.authUrl, {
        path: `/oauth/approvals/${approval_id}${query}`,
        headers: { authorization: basic(by.id, by.secret) },
      }),
  }
  return own
}

const pathOf = (approval: Pick<Approval, 'approval_uri'>): string => new URL(approval.approval_uri).pathname

/** Opens the link of an approval. */
export function openApproval(walk: Walk, approval: Pick<Approval, 'approval_uri'>): Promise<Answer> {
  return walk.browse({ path: pathOf(approval) })
}

/** Presses a button of the page. */
export function decide(walk: Walk, approval: Pick<Approval, 'approval_uri'>, decision: string): Promise<Answer> {
  const origin = walk.grantor.deps.settings.authUrl
  return walk.postForm(pathOf(approval), { decision }, { origin })
}

/** The login challenge to which the page leads. */
export async function challengeOf(walk: Walk, approval: Pick<Approval, 'approval_uri'>): Promise<string> {
  return parameterOf(movingTo(await decide(walk, approval, 'sign')), 'login_challenge')
}

/** The user opens the link and signs. The result is the answer of `/login/complete`. */
export async function sign(walk: Walk, approval: Pick<Approval, 'approval_uri'>): Promise<Answer> {
  return walk.complete(await walk.prove(await challengeOf(walk, approval)))
}
