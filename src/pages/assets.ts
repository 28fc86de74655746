import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/**
 * The files that the pages load: stylesheet, icon and browser scripts. Both servers serve them unchanged from
 * `browser/`.
 *
 * The files are read once, when the process starts. `assetHeaders` lets a browser cache them but requires revalidation
 * (an ETag, mostly answered with 304), so that a page never runs with the script of an earlier version.
 */
export type Asset = { path: string; type: string; body: Buffer; etag: string }

const SCRIPT = 'text/javascript; charset=utf-8'

export const assets: Asset[] = [
  asset('grantor.css', 'text/css; charset=utf-8'),
  asset('no-script.css', 'text/css; charset=utf-8'),
  asset('icon.svg', 'image/svg+xml'),
  asset('form-post.js', SCRIPT),
  asset('login.js', SCRIPT),
  asset('words.js', SCRIPT),
  asset('wallets.js', SCRIPT),
  asset('wallet-list.js', SCRIPT),
  asset('sign-in.js', SCRIPT),
  asset('login-server.js', SCRIPT),
  asset('phone.js', SCRIPT),
]

/** The files of the console's pages, which the admin server serves. */
export const consoleAssets: Asset[] = [
  asset('grantor.css', 'text/css; charset=utf-8'),
  asset('console.css', 'text/css; charset=utf-8'),
  asset('icon.svg', 'image/svg+xml'),
  asset('console.js', SCRIPT),
]

export function assetHeaders(asset: Asset): Record<string, string> {
  return { 'content-type': asset.type, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff', etag: asset.etag }
}

function asset(name: string, type: string): Asset {
  const body = readFileSync(new URL(`./browser/${name}`, import.meta.url))
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  return { path: `/assets/${name}`, type, body, etag }
}
