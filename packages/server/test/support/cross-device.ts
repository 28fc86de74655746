/** A login in one browser that a wallet on another device signs: the requests of both browsers. */
import { type Answer, fieldOf, movingTo, parameterOf, type Walk } from './walk.ts'

/** What the login page of a browser offers to the other device. */
export type Offer = { url: string; code: string; continue_url: string; signed: boolean }

export async function offerOf(browser: Walk, challenge: string): Promise<Offer> {
  return (await browser.describe(challenge)).json().cross_device as Offer
}

/** Opens a URL of the auth service: that of the QR code, or that at which the first browser continues. */
export function openUrl(walk: Walk, url: string): Promise<Answer> {
  const { pathname, search } = new URL(url)
  return walk.browse({ path: pathname + search })
}

/** Opens the URL of the QR code on another device, and confirms that the letters match. Returns the challenge of that device. */
export async function compareOn(device: Walk, url: string): Promise<string> {
  const page = await openUrl(device, url)
  const onward = await device.postForm('/login/cross-device', { request: fieldOf(page, 'request'), decision: 'allow' })
  return parameterOf(movingTo(onward), 'login_challenge')
}

/** The same, and signs. Returns the last page of that device. */
export async function signOn(device: Walk, url: string, wallet = device.wallet): Promise<Answer> {
  return device.complete(await device.prove(await compareOn(device, url), wallet))
}
