import { callbacks, grantorV4 } from '@grantor/connect/authjs'

/** A function, because `next build` loads this file without the environment of the app. */
export function authOptions() {
  const { ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env
  return {
    providers: [grantorV4({ issuer: ISSUER, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET })],
    callbacks, // the address of the wallet is in session.user.wallet
  }
}
