/** The example of a command-line program that signs in on a device, as a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { decodeQR } from 'qr/decode.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createResourceApi } from '../../demo/resource-api/index.ts'
import { allowDevice, challengeOfDevice, createDeviceClient } from '../support/device.ts'
import { freePorts } from '../support/free-ports.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { Walk } from '../support/walk.ts'

const PROGRAM = join(import.meta.dirname, '../../demo/cli-device/index.ts')

let grantor: Grantor
let client: TestClient
let api: ReturnType<typeof createResourceApi>
let apiUrl: string
let ticking: NodeJS.Timeout

beforeAll(async () => {
  const [port = 0] = await freePorts(1)
  apiUrl = `http://localhost:${port}`
  grantor = await startGrantor({ settings: { defaultResource: apiUrl } })
  // The program polls and makes proofs in real time.
  ticking = setInterval(() => (grantor.clock.at = Math.floor(Date.now() / 1000)), 100)
  client = await createDeviceClient(grantor)
  const server = await grantor.createClient({ name: 'API', redirectUris: [], resourceServer: apiUrl })
  const { authUrl: issuer } = grantor
  api = createResourceApi({ issuer, audience: apiUrl, origin: apiUrl, clientId: server.id, clientSecret: server.secret })
  await api.listen({ host: '127.0.0.1', port })
})
afterAll(async () => {
  clearInterval(ticking)
  await Promise.all([api.close(), grantor.close()])
})

/** Starts the program and waits until it shows its code. */
async function startProgram(args: string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...args])
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')))
  const exited = once(child, 'exit')
  return { out: () => out, exit: async () => (await exited)[0] as number }
}

async function codeOf(program: { out(): string }): Promise<string> {
  await expect.poll(program.out).toContain('Waiting for your wallet')
  return /^ {4}([A-Z]{4}-[A-Z]{4})$/m.exec(program.out())?.[1] ?? ''
}

/** What a camera reads from the terminal: each character is two modules, light where it is drawn. */
function readQrCode(out: string): string {
  // oxlint-disable-next-line no-control-regex -- the colours of the terminal
  const rows = [...out.matchAll(/\u001b\[97;40m(.*?)\u001b\[0m/g)].map(([, row = '']) => row)
  const modules = rows.flatMap((row) => [
    [...row].map((each) => '█▀'.includes(each)),
    [...row].map((each) => '█▄'.includes(each)),
  ])
  const scale = 4
  const [width, height] = [(modules[0]?.length ?? 0) * scale, modules.length * scale]
  const data = new Uint8Array(width * height * 4).fill(255)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const value = modules[Math.floor(y / scale)]?.[Math.floor(x / scale)] ? 255 : 0
      data.fill(value, (y * width + x) * 4, (y * width + x) * 4 + 3)
    }
  return decodeQR({ width, height, data })
}

test('The program shows the address, the code and a QR code, and calls the API as soon as the wallet has signed', async () => {
  const program = await startProgram([grantor.authUrl, client.id, `${apiUrl}/me`])
  const code = await codeOf(program)
  expect(program.out()).toContain(`open ${grantor.authUrl}/device`)
  expect(readQrCode(program.out())).toBe(`${grantor.authUrl}/device?user_code=${code}`)
  const walk = new Walk(grantor)
  await allowDevice(walk, { user_code: code })
  expect(await program.exit()).toBe(0)
  expect(program.out()).toContain('Signed in, with the scope enhancement.')
  expect(program.out()).toContain(`answered 200: {"wallet":"${walk.wallet.address}"`)
})

test('The program ends with the reason if the user declines', async () => {
  const program = await startProgram([grantor.authUrl, client.id, `${apiUrl}/me`])
  const walk = new Walk(grantor)
  await walk.complete(await walk.reject(await challengeOfDevice(walk, { user_code: await codeOf(program) })))
  expect(await program.exit()).toBe(1)
  expect(program.out()).toContain('Not signed in: access_denied')
})

test('Without its three arguments the program prints its usage', async () => {
  const program = await startProgram([])
  expect(await program.exit()).toBe(2)
  expect(program.out()).toContain('Usage: ')
})
