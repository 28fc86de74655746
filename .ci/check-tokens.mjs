// Usage: node check-tokens.mjs ISSUER AUDIENCE CREDENTIALS. Runs the cases of token-cases.mjs on this runtime, and prints their names.
import { checkTokens } from './token-cases.mjs'

const [issuer, audience, credentials] = process.argv.slice(2)
for (const name of await checkTokens(issuer, audience, JSON.parse(credentials))) console.log(name)
