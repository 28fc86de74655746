/**
 * `@signinwithethereum/siwe`, unchanged, checks the claims of scope `siwe`. The package needs `ethers`, and both have 28 MB, so the test
 * installs them in a temporary folder.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { test } from '../support/fixtures.ts'
import { openIdTokens } from '../support/openid-app.ts'
import { OWN_ENVIRONMENT } from '../support/own-environment.ts'
import { send } from '../support/send.ts'
import { requestOf, Walk } from '../support/walk.ts'

const PACKAGES = ['@signinwithethereum/siwe@4.2.1', 'ethers@6']

/** The chain is called for the signature of a contract wallet only, and here no chain is at the address. */
const CHECK = `
import { configure, createConfig, SiweMessage } from '@signinwithethereum/siwe'
const [siwe_message, signature, domain] = process.argv.slice(2)
configure(await createConfig('http://127.0.0.1:9'))
const message = new SiweMessage(siwe_message)
const { success, data, error } = await message.verify({ signature, domain, nonce: message.nonce }, { suppressExceptions: true })
console.log(JSON.stringify([success, data.address, String(error?.type)]))
process.exit()
`

function installed(): string {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-siwe-'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'check.js'), CHECK)
  const argv = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error', ...PACKAGES]
  const { status, stderr } = spawnSync('npm', argv, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm could not install ${PACKAGES.join(' ')}: ${stderr}`)
  return folder
}

test.runIf(process.env.TEST_CLIENTS)(
  'The library @signinwithethereum/siwe accepts the text and the signature of userinfo, and refuses a text with one changed digit',
  async ({ grantor }) => {
    const client = await grantor.createClient({ scopes: ['openid', 'siwe'] })
    const walk = new Walk(grantor)
    const asked = { response_type: 'code', scope: 'openid siwe' }
    await walk.signIn(requestOf(client, asked))
    const { access_token } = await openIdTokens(walk, client, asked)
    const userinfo = await send(grantor.authUrl, {
      path: '/oauth/userinfo',
      headers: { authorization: `Bearer ${access_token}` },
    })
    const { siwe_message = '', siwe_signature = '' } = userinfo.json() as Record<string, string>
    const folder = installed()
    const check = (text: string, signature: string) => {
      const argv = ['check.js', text, signature, new URL(grantor.loginUrl).host]
      const { stdout } = spawnSync(process.execPath, argv, { cwd: folder, env: OWN_ENVIRONMENT, encoding: 'utf8' })
      return JSON.parse(stdout) as unknown
    }
    const { address } = walk.wallet
    expect(check(siwe_message, siwe_signature)).toEqual([true, address, 'undefined'])
    expect(check(siwe_message.replace('Chain ID: 1', 'Chain ID: 5'), siwe_signature)).toEqual([
      false,
      address,
      'Signature does not match address of the message.',
    ])
    rmSync(folder, { recursive: true })
  },
)
