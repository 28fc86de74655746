/** The preview of the operator's look in the console. */
import { expect } from 'vitest'
import { PLATFORM_LOGO, readLogo } from '../../../src/look/logo.ts'
import { expectGoodLooks, LOOKS } from '../../flows/looks.ts'
import { test as base } from '../../support/fixtures.ts'
import { pngLogo } from '../../support/logos.ts'
import { addOperator, OWNER, signInToConsole } from './visit.ts'

const read = readLogo(pngLogo({ width: 120, height: 60 }), PLATFORM_LOGO)
if ('fault' in read) throw new Error(read.fault)
const test = base.extend('options', {
  admin: true,
  look: { name: 'Aurora Pay', accentColor: '#0b2a6f', logo: read.logo, helpUrl: 'https://aurora.example/help' },
})

test('The console shows the look of the pages in the light and the dark scheme at once, whatever the scheme of the operator', async ({
  grantor,
  page,
}) => {
  await addOperator(grantor, OWNER, 'owner')
  await signInToConsole(page, grantor, OWNER, '/console/look')
  const blocked: string[] = []
  page.on('console', (line) => line.type() === 'error' && blocked.push(line.text()))
  await page.goto(`${grantor.adminUrl}/console/look`)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const colors = (scheme: string) =>
      page.locator(`.scheme-${scheme}`).evaluate((preview) => {
        const button = preview.querySelector('.button')
        return [getComputedStyle(preview).backgroundColor, button && getComputedStyle(button).backgroundColor]
      })
    expect(await colors('light')).toEqual(['rgb(233, 238, 233)', 'rgb(11, 42, 111)'])
    expect((await colors('dark'))[0]).toBe('rgb(11, 18, 15)')
  }
  expect(await page.locator('.preview').first().textContent()).toContain('Aurora Pay')
  for (const image of await page.locator('.preview .masthead img').all())
    expect(await image.evaluate((picture: HTMLImageElement) => picture.naturalWidth)).toBe(120)
  await expectGoodLooks(page, 'console-look', LOOKS)
  expect(blocked).toEqual([])
})
