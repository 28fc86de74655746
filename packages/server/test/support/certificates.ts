/** Certificates for two days, made by `openssl`, which every machine that builds Node has. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

export type Certificate = { cert: string; key: string }

/** Makes `NAME.pem` and `NAME.key` in a folder, signed by `issuer`, or by itself. `names` are its subjectAltName. */
export function makeCertificate(
  folder: string,
  name: string,
  { issuer, names }: { issuer?: Certificate; names?: string } = {},
): Certificate {
  const made = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) }
  const options = [
    'req',
    '-x509',
    '-nodes',
    '-newkey=ec',
    '-pkeyopt=ec_paramgen_curve:prime256v1',
    '-days=2',
    `-subj=/CN=${name}`,
    `-keyout=${made.key}`,
    `-out=${made.cert}`,
    ...(issuer ? ['-CA', issuer.cert, '-CAkey', issuer.key, '-addext', 'basicConstraints=critical,CA:FALSE'] : []),
    ...(names === undefined ? [] : ['-addext', `subjectAltName=${names}`]),
  ]
  execFileSync('openssl', options, { stdio: ['ignore', 'ignore', 'pipe'] })
  return made
}
