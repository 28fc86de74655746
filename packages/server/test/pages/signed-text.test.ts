import { expect, test } from 'vitest'
import { receiptPage } from '../../src/pages/account/receipt-page.ts'
import { ENGLISH, languages } from '../../src/pages/languages.ts'
import { translateSignedText } from '../../src/pages/signed-text.ts'
import { composeAccountMessage, composeEndEverythingMessage } from '../../src/protocol/wallet/account-message.ts'
import { approvalFields, composeAction } from '../protocol/wallet/approval-example.ts'
import { composeShort, shortFields, userCode } from '../protocol/wallet/consent-example.ts'
import { receiptView } from './samples.ts'

const { de, ar } = languages
const device = { template: 11, redirectUri: undefined, userCode }
const metadata = { clientId: 'https://agent.example/client.json', clientName: 'Agent Tools' }

/** Without the isolates around names. */
const translate = (message: string) => translateSignedText(message, de).map((each) => each.replace(/[\u2066-\u2069]/g, ''))

test('The translation of a consent names the site, the account, the app, its host, the end, the permissions and the costs', () => {
  const lines = translate(composeShort())
  expect(lines.slice(0, -1)).toEqual([
    'login.example.com bittet Sie, sich mit Ihrem Ethereum-Konto 0xf39F…2266 anzumelden.',
    'Sie erlauben MyApp (app.example.net) bis zum 20. Dezember 2026 (UTC) nur Folgendes:',
    'https://api.example.com/: enhancement',
    'Das Signieren kostet kein Gas und überweist nichts.',
  ])
  expect(lines.at(-1)).toContain('Die übrigen Zeilen')
})

test('The translation names the screen that gets the access, by its code', () => {
  expect(translate(composeShort(device))).toContain('Der Zugriff geht an das Gerät, das den Code WDJB-MJHT zeigt.')
  const browser = translate(composeShort({ template: 12, userCode }))
  expect(browser).toContain('Der Zugriff geht an den Browser, der den Code WDJB-MJHT zeigt.')
})

test('The translation of an app that is not registered names the publisher first, and that the name is not checked', () => {
  const lines = translate(composeShort({ ...metadata, redirectUri: 'http://127.0.0.1:33418/callback' }))
  expect(lines[1]).toBe('Sie erlauben der App von agent.example bis zum 20. Dezember 2026 (UTC) nur Folgendes:')
  expect(lines).toContain('Sie nennt sich „Agent Tools“. Dieser Name ist nicht geprüft.')
  expect(lines).toContain('Die Antwort geht an ein Programm auf diesem Gerät.')
  const elsewhere = translate(composeShort({ ...metadata, template: 12, userCode, redirectUri: 'http://127.0.0.1/' }))
  expect(elsewhere).toContain('Die Antwort geht an ein Programm auf jenem Gerät.')
})

test('The translation of an approval has the words of the API between quotes, the API, the app, the permission and the costs', () => {
  const lines = translate(composeAction())
  expect(lines.slice(0, -1)).toEqual([
    'login.example.com bittet Sie, sich mit Ihrem Ethereum-Konto 0xf39F…2266 anzumelden.',
    "Sie genehmigen einmalig diese eine Aktion: 'Pay EUR 12.50 to Ada Lovelace (order #4711)'",
    'Das sind die Worte von bank.example, nicht die dieses Dienstes.',
    'Die Aktion wurde von MyApp angefordert.',
    'https://bank.example/: payments.make',
    'Das Signieren kostet kein Gas und überweist nichts.',
  ])
  const unregistered = translate(composeAction(metadata))
  expect(unregistered).toContain('Die Aktion wurde von der App von agent.example angefordert.')
  expect(unregistered).toContain('Sie nennt sich „Agent Tools“. Dieser Name ist nicht geprüft.')
  expect(translate(composeAction().replace('12.50', '99.50'))).toEqual(
    translate(composeAction({ summary: approvalFields.summary.replace('12.50', '99.50') })),
  )
  expect(translate(composeAction().replace('words of bank', 'words of shop'))).toEqual([])
})

test('Every language has a translation of an approval, with the summary isolated from the sentence', () => {
  for (const language of Object.values(languages).filter(({ tag }) => tag !== 'en')) {
    const lines = translateSignedText(composeAction(), language)
    expect(lines).toHaveLength(7)
    expect(lines[1]).toContain("\u2066'Pay EUR 12.50 to Ada Lovelace (order #4711)'\u2069")
    expect(lines[2]).toContain('\u2066bank.example\u2069')
    expect(lines[3]).toContain('\u2068MyApp\u2069')
  }
})

test('The texts of the account page and of ending everything have a translation', () => {
  const fields = { ...shortFields, requestId: 'a', loginUrl: 'https://login.example.com/login', expiresAt: shortFields.until }
  const account = composeAccountMessage({ ...fields, template: 3 }) ?? ''
  const everything = composeEndEverythingMessage({ ...fields, template: 4 }) ?? ''
  expect(translate(account)[1]).toContain('Damit erlauben Sie keiner App etwas.')
  expect(translate(everything)[1]).toMatch(/^Sie beenden alles: /)
})

test('A text that differs from what this service composes has no translation, and neither has a page in English', () => {
  expect(translate(composeShort().replace('enhancement', 'everything'))).toEqual([])
  expect(translate('Transfer all')).toEqual([])
  expect(translateSignedText(composeShort(), ENGLISH)).toEqual([])
  expect(receiptPage(receiptView(), ENGLISH)).not.toContain('id="translation"')
})

test('In a language that is written from right to left, hosts, addresses and codes are isolated from the sentence', () => {
  const page = receiptPage(receiptView(), ar)
  expect(page).toContain('\u2066login.example.com\u2069')
  expect(page).toContain('\u20660xf39F…2266\u2069')
  expect(page).toMatch(/<pre [^>]*lang="en"/)
})
