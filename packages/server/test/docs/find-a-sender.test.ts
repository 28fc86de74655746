/** The commands of docs/operating/watch.md that find who sends refused requests, on the log of real requests. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { createLogger } from '../../src/observability/log/logger.ts'
import { newFolder } from '../app/run.ts'
import { test as base } from '../support/fixtures.ts'
import { blocksOf } from '../support/page-blocks.ts'

const lines: string[] = []
const logger = createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } })
const test = base.extend('options', { logger, trustedProxies: ['127.0.0.1'], failureLimit: 20 })

const block = (mark: string) => blocksOf('operating/watch.md').find((each) => each.mark === mark)?.text ?? ''

test('The commands of watch.md find the network and the client that sent bad refreshes, and the ids of the requests', async ({
  grantor,
  client,
}) => {
  const refresh = async (address: string) => {
    const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'wrong' })
    const authorization = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
    const headers = { authorization, 'x-forwarded-for': address }
    return (await fetch(`${grantor.authUrl}/oauth/token`, { method: 'POST', body, headers })).headers.get('x-request-id') ?? ''
  }
  for (let n = 0; n < 3; n++) await refresh('198.51.100.9')
  const ids: string[] = []
  for (let n = 0; n < 30; n++) ids.push(await refresh('203.0.113.77'))

  const folder = newFolder()
  writeFileSync(join(folder, 'grantor.log'), lines.join(''))
  const run = (text: string) => execFileSync('sh', ['-c', text], { cwd: folder, encoding: 'utf8' })
  const found = run(block('sender'))
  expect(found).toMatch(/^ *30 "network":"203.0.113"\n *3 "network":"198.51.100"\n/)
  expect(found).toMatch(new RegExp(`30 "client_id":"${client.id}"`))
  expect(found).toMatch(/ 10 "reason":"failure_limit"\n/)
  const withIds = run(`network=203.0.113\n${block('sender-ids')}`)
  expect(ids.some((id) => withIds.includes(`"request_id":"${id}"`))).toBe(true)
  expect(lines.join('')).not.toMatch(/203\.0\.113\.77|198\.51\.100\.9/)
})
