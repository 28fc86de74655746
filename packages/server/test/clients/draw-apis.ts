/** One little API in the framework of each adapter of @grantor/resource: `POST /enhance` draws, and gives back if the call says so. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createProtectedResource, type Draw, type ProtectedResource } from '@grantor/resource'
import * as forExpress from '@grantor/resource/express'
import * as forFastify from '@grantor/resource/fastify'
import * as forHono from '@grantor/resource/hono'
import * as forMcp from '@grantor/resource/mcp'
import * as forNext from '@grantor/resource/next'
import { getRequestListener } from '@hono/node-server'
import { McpServer as McpServer1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
// @ts-expect-error -- Express publishes no types, and the adapter needs none
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { listening } from '../../../resource/test/listening.ts'
import { type Called, callRoute, type DrawApi, type StartApi, type Use } from './draw-contract.ts'

/** `check: 'local'`: the service is asked for the draw, and for nothing else. */
export function resourceOf({ issuer, resource, clientId, clientSecret, now }: Parameters<StartApi>[0]) {
  const introspection = { clientId, clientSecret }
  return createProtectedResource({ issuer, resource, check: 'local', introspection, now, onRefusal: () => undefined })
}

type Settings = Parameters<StartApi>[0]
type Members = { [Name in keyof Use]?: unknown }

const useOf = ({ key, amount, back }: Members): Use => ({
  key: String(key),
  amount: Number(amount),
  ...(back === undefined ? {} : { back: Number(back) }),
})

/** Gives back what the call did not cost. The result is the response of a call that was counted. */
async function giveBack(resource: ProtectedResource, { grantId, ...draw }: Draw, { key, back }: Use): Promise<object> {
  if (back === undefined) return draw
  const { returned } = await resource.giveBack({ grantId, key, amount: back })
  return { ...draw, returned }
}

/** The whole route. `call` is what the adapter of the framework takes. */
async function enhance(resource: ProtectedResource, call: object, members: Members): Promise<object> {
  const { key, amount, back } = useOf(members)
  const drawn = await resource.draw(call, { key, amount })
  return giveBack(resource, drawn, { key, amount, ...(back === undefined ? {} : { back }) })
}

type Request = IncomingMessage & { query: Members; body?: unknown; auth?: unknown }
type Listener = (request: IncomingMessage, response: ServerResponse) => unknown
interface ExpressApp {
  (request: IncomingMessage, response: ServerResponse): unknown
  use(...handlers: unknown[]): void
  post(path: string, ...handlers: unknown[]): void
}
const { json: parseJson } = express as { json(): unknown }
const createExpressApp = express as () => ExpressApp

function expressApi(resource: ProtectedResource): Listener {
  const app = createExpressApp()
  const requireToken = forExpress.requireToken(resource)
  app.post('/enhance', requireToken, async (request: Request, response: ServerResponse & { json(body: unknown): void }) => {
    response.json(await enhance(resource, request, request.query))
  })
  app.use(forExpress.answerRefusals(resource))
  return app
}

async function fastifyApi(resource: ProtectedResource): Promise<Listener> {
  const app = Fastify()
  app.setErrorHandler(forFastify.answerRefusals(resource))
  const onRequest = forFastify.requireToken(resource)
  app.post('/enhance', { onRequest }, (request) => enhance(resource, request, request.query as Members))
  await app.ready()
  return (request, response) => app.routing(request, response)
}

/** The clients of the SDKs run in this process, and need the `Response` of Node. */
const listenerOf = (answer: (request: globalThis.Request) => Response | Promise<Response>): Listener =>
  getRequestListener(answer, { overrideGlobalObjects: false })

function honoApi(resource: ProtectedResource): Listener {
  const app = new Hono()
  app.onError(forHono.answerRefusals(resource))
  app.post('/enhance', forHono.requireToken(resource), async (context) =>
    context.json(await enhance(resource, context, context.req.query())),
  )
  return listenerOf(app.fetch)
}

function nextApi(resource: ProtectedResource): Listener {
  const route = forNext.requireToken(resource, {}, async (request: globalThis.Request) => {
    const query = Object.fromEntries(new URL(request.url).searchParams)
    return Response.json(await enhance(resource, request, query))
  })
  return listenerOf(route)
}

const INFO = { name: 'forge', version: '1.0.0' }

const MCP_NEEDS: forMcp.McpNeeds = {
  hosts: ['127.0.0.1'],
  tools: {
    enhance: {
      draw: (members) => {
        const { key, amount } = useOf(members)
        return { key, amount }
      },
    },
  },
}

/** The result of the tool `enhance`, whose draw came before the call. */
async function runTool(resource: ProtectedResource, authInfo: unknown, members: Members) {
  const [drawn] = (authInfo as forMcp.AuthInfo).extra.draws
  if (!drawn) throw new Error('nothing was drawn for the tool')
  return { content: [{ type: 'text' as const, text: JSON.stringify(await giveBack(resource, drawn, useOf(members))) }] }
}

export function mcpApi2(resource: ProtectedResource): Listener {
  const properties = { key: { type: 'string' }, amount: { type: 'integer' }, back: { type: 'integer' } } as const
  const inputSchema = fromJsonSchema<Use>({ type: 'object', properties, required: ['key', 'amount'] })
  const handler = createMcpHandler(() => {
    const server = new McpServer(INFO)
    const tool = forMcp.answerRefusals(resource, server)
    server.registerTool(
      'enhance',
      { inputSchema },
      tool((use, { http }) => runTool(resource, http?.authInfo, use)),
    )
    return server
  })
  return listenerOf(forMcp.protectMcp(resource, handler, MCP_NEEDS).fetch)
}

export function mcpApi1(resource: ProtectedResource): Listener {
  const app = createExpressApp()
  app.use(forMcp.serveMetadata(resource))
  const requireToken = forMcp.requireToken(resource, MCP_NEEDS)
  app.use(
    new URL(resource.metadata.resource).pathname,
    parseJson(),
    requireToken,
    async (request: Request, response: ServerResponse) => {
      const { server } = new McpServer1(INFO, { capabilities: { tools: {} } })
      server.setRequestHandler(CallToolRequestSchema, ({ params }, { authInfo }) =>
        runTool(resource, authInfo, params.arguments ?? {}),
      )
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
      await server.connect(transport)
      await transport.handleRequest(request as never, response, request.body)
    },
  )
  return app
}

/** Calls the tool `enhance`. A failure of the tool itself, which is no refusal of the call, has the status 500. */
async function callTool(url: string, token: string, use: Use): Promise<Called> {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'enhance', arguments: use } }
  const accept = 'application/json, text/event-stream'
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) })
  const body = await answer.text()
  const json = JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? body) as Called['json']
  if (answer.status !== 200) return { status: answer.status, headers: answer.headers, json }
  const { result } = json as { result?: { isError?: boolean; content: [{ text: string }] } }
  if (!result || result.isError) return { status: 500, headers: answer.headers, json }
  return { status: 200, headers: answer.headers, json: JSON.parse(result.content[0].text) as Called['json'] }
}

type Build = (resource: ProtectedResource) => Listener | Promise<Listener>

function started(build: Build, call = callRoute): StartApi {
  return async (settings: Settings): Promise<DrawApi> => {
    const { url, close } = await listening(await build(resourceOf(settings)))
    return { call: (token, use) => call(url, token, use), close }
  }
}

/** Each adapter of the package, by its framework. */
export const ADAPTERS: Readonly<Record<string, StartApi>> = {
  Express: started(expressApi),
  Fastify: started(fastifyApi),
  Hono: started(honoApi),
  'Next.js': started(nextApi),
  'MCP SDK 2.x': started(mcpApi2, callTool),
  'MCP SDK 1.x': started(mcpApi1, callTool),
}
