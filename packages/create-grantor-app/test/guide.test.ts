/** The commands of docs/guides/create-app.md for an app that exists. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { BIN, newFolder } from '../../server/test/app/run.ts'
import { recipeOf } from '../../server/test/clients/recipe.ts'
import { sixInARow } from '../../server/test/support/free-ports.ts'
import { OWN_ENVIRONMENT } from '../../server/test/support/own-environment.ts'

test('The commands of the page start an app beside Grantor, with the credentials of the registration', async () => {
  const folder = newFolder()
  const app = `require('node:fs').writeFileSync('got', process.env.ISSUER + ' ' + process.env.CLIENT_ID + ' ' + process.env.CLIENT_SECRET)`
  writeFileSync(join(folder, 'server.js'), app)
  const port = await sixInARow()
  const commands = recipeOf('sh', 'grantor-json', 'create-app').replace('--data', `--ports ${port} --data`)
  // npx would look for the program, grantor, in the folder.
  const script = `npx() { shift; "${process.execPath}" "${BIN}" "$@"; }\n${commands}`
  const env = { ...OWN_ENVIRONMENT, PATH: `${dirname(process.execPath)}:${OWN_ENVIRONMENT.PATH}` }
  const child = spawn('bash', ['-c', script], { cwd: folder, env, stdio: 'ignore' })
  expect(await once(child, 'close')).toEqual([0, null])
  expect(existsSync(join(folder, '.grantor/grantor.sqlite'))).toBe(true)
  expect(readFileSync(join(folder, 'got'), 'utf8')).toMatch(new RegExp(`^http://localhost:${port} [\\da-f-]{36} [\\w-]{43}$`))
})
