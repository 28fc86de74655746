/** Reads a QR code from the screen, as the camera of a phone does. */
import type { Locator, Page } from 'playwright-core'
import { decodeQR } from 'qr/decode.js'

/** Decodes the first QR code of a part of the page. The decoder fails on some codes at some sizes, so it gets up to three pictures. */
export async function readCode(from: Page, within = '#phone'): Promise<string> {
  const failures: unknown[] = []
  for (const size of [6, 8, 5]) {
    try {
      return await readPicture(from.locator(`${within} .qr`).first(), size)
    } catch (error) {
      failures.push(error)
    }
  }
  throw new AggregateError(failures, 'no picture of the code could be read')
}

/** `size`: pixels for each module. Only whole pixels, because the decoder needs sharper pictures than a camera. */
async function readPicture(code: Locator, size: number): Promise<string> {
  await code.evaluate((image: HTMLImageElement, pixels) => {
    image.style.width = image.style.maxWidth = `${image.naturalWidth * pixels}px`
    image.style.translate = ''
    // Move the code to whole pixels of the screen.
    const { x, y } = image.getBoundingClientRect()
    image.style.translate = `${-(x % 1)}px ${-(y % 1)}px`
  }, size)
  const picture = (await code.screenshot()).toString('base64')
  // Decoded in another page, because the policy of the login page does not allow this picture.
  const blank = await code.page().context().newPage()
  const { width, height, pixels } = await blank.evaluate(async (png) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob())
    const { width, height } = image
    const context = new OffscreenCanvas(width, height).getContext('2d') as OffscreenCanvasRenderingContext2D
    context.drawImage(image, 0, 0)
    const bytes = Array.from(context.getImageData(0, 0, width, height).data)
    return { width, height, pixels: bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('') }
  }, picture)
  await blank.close()
  return decodeQR({ width, height, data: Uint8Array.from(Buffer.from(pixels, 'hex')) })
}
