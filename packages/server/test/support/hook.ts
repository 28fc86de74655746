/** A hook of an operator on loopback, which checks the signature of each question and answers as the test sets. */
import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { expect } from 'vitest'
import { type ClientHost, startClientHost } from './client-host.ts'

export const HOOK_SECRET = `whsec_${Buffer.alloc(32, 'hook').toString('base64')}`

export type AskedQuestion = {
  issuer: string
  occasion: 'code' | 'device' | 'refresh'
  wallet: string
  wallet_kind: string
  chain_id: number | null
  auth_time: number | null
  client_id: string
  client_name: string
  scopes: string[]
  resources: string[]
  grant_id?: string
}

export type TestHook = {
  url: string
  /** the settings of a service that calls this hook */
  environment: Record<string, string>
  /** the questions so far, in order */
  questions: AskedQuestion[]
  host: ClientHost
  /** the answer from now on: a JSON body, or a function that responds itself */
  answer: object | ((question: AskedQuestion, response: ServerResponse) => void)
  close(): Promise<void>
}

export async function startHook(answer: TestHook['answer'] = { answer: 'yes' }): Promise<TestHook> {
  const host = await startClientHost((_, response) => {
    const { headers = {}, body = '' } = host.requests.at(-1) ?? {}
    const content = [headers['webhook-id'], headers['webhook-timestamp'], body].join('.')
    const key = Buffer.from(HOOK_SECRET.slice('whsec_'.length), 'base64')
    const signature = `v1,${createHmac('sha256', key).update(content).digest('base64')}`
    if (!String(headers['webhook-signature']).split(' ').includes(signature)) return void response.writeHead(401).end()
    const question = (JSON.parse(body) as { data: AskedQuestion }).data
    hook.questions.push(question)
    if (typeof hook.answer === 'function') hook.answer(question, response)
    else answerWith(response, hook.answer)
  })
  const url = `${host.origin}/grantor?token=t`
  const environment = { GRANTOR_HOOK_URL: url, GRANTOR_HOOK_SECRET: HOOK_SECRET }
  const hook: TestHook = { url, environment, questions: [], host, answer, close: host.close }
  return hook
}

export function answerWith(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Waits until the hook has this many questions. */
export async function expectQuestions(hook: TestHook, count: number): Promise<void> {
  await expect.poll(() => hook.questions.length).toBe(count)
}
