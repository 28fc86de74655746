/** Runs once before all test files: unpacks the browser, so that no test's time limit pays for it. */
import { findChromium } from './chromium.ts'

export default async function prepareBrowser(): Promise<void> {
  await findChromium()
}
