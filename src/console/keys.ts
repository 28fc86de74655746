/** The page of the keys. */
import { listKeys, retireKey, rotateKey } from '../operations/keys.ts'
import { keysPage } from '../pages/console/key-page.ts'
import { addChange } from './change.ts'
import { addPage, type Console } from './visit.ts'

const PLACE = '/console/keys'

export function keyPages(console: Console): void {
  addPage(console, PLACE, async (visit) => {
    const { items } = (await visit.run(listKeys)).output
    const done = [rotateKey, retireKey].find(({ id }) => id === visit.query.text('done'))?.page?.done
    return keysPage({ frame: visit.frame, keys: items, mayChange: visit.may('admin.keys'), done, now: visit.now })
  })
  const home = (): string => PLACE
  addChange(console, { operation: rotateKey, path: `${PLACE}/rotate`, form: null, hasRecord: false, home })
  addChange(console, { operation: retireKey, path: `${PLACE}/:id/retire`, form: null, hasRecord: false, home })
}
