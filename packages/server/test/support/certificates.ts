/** Certificates that `openssl` makes for two days (every machine that builds Node has `openssl`), and certificates that are written here. */
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

/** A self-signed certificate for `localhost`, `keys.example.test` and 127.0.0.1, valid until 2126. Only tests use it, and its key is public. */
export const TEST_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBrzCCAVagAwIBAgIUZ7X9qpzvw7SUubsWH2dYDikPR3gwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTIzMDgzOVoYDzIxMjYxMDI4
MjMwODM5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATLFFoRds3yG0J8GdfzZ6lYtzGV2+qnRI4nUnnDGrDs8NXDJfExpE2p
BP3nkUFH9tQFe98v7cWvuhhDGtf2oVfuo4GDMIGAMB0GA1UdDgQWBBR2UIBXz+UO
TbsV38iu6yU044FooTAfBgNVHSMEGDAWgBR2UIBXz+UOTbsV38iu6yU044FooTAP
BgNVHRMBAf8EBTADAQH/MC0GA1UdEQQmMCSCCWxvY2FsaG9zdIIRa2V5cy5leGFt
cGxlLnRlc3SHBH8AAAEwCgYIKoZIzj0EAwIDRwAwRAIgZbv0AQCEDEQL4tAxrI/K
rQEdLkFaNxQygH+aWWYi8LoCIDudkil2GLWtnuMtZb0u65sFnkHwvXl6uvh4enlI
+mwV
-----END CERTIFICATE-----
`
export const TEST_CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/pbGpqESNzT4vIrY
ExySLXn+3cRH/QZdt03PnQhLguKhRANCAATLFFoRds3yG0J8GdfzZ6lYtzGV2+qn
RI4nUnnDGrDs8NXDJfExpE2pBP3nkUFH9tQFe98v7cWvuhhDGtf2oVfu
-----END PRIVATE KEY-----
`

/** RSA of 2048 bits, for `localhost`, until 2126. Its key is public. */
export const RSA = {
  cert: `-----BEGIN CERTIFICATE-----
MIIDJzCCAg+gAwIBAgIUBvMjE9oVYOXhRgzxgWOBhT5y28EwDQYJKoZIhvcNAQEL
BQAwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjAwMDcwNloYDzIxMjYx
MDI5MDAwNzA2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwggEiMA0GCSqGSIb3DQEB
AQUAA4IBDwAwggEKAoIBAQCebfGLegRgZxMbL64BP8YO429Is4nPddiUMo8L7882
l71BLM8usflJVJC3mz/tRxDm+psTx7g3M5Ckj81KwxrWzE3IQqDO9CWuDQYA1DwI
2MIHwoWt1TMZ8hvDwkQGZz40B+g6CuDZZS73u7k506eaP/f1tPc9NhCSCHARqCX8
wwqcGCaNFsF+wxmzM6ktUfZ7OSyhuxOWdZJY+GPU/UbdPjC6PDB9LT/ef2/4iGeg
VT7RRtn11TWiYGMFcOegF+HxH5nr8+7454YLGx07OMnqC9yBCb+ZzIYzFMtPbXBr
Px52VdqO4TMPmCBCdYJueffJGN0Wt/khXPWz/v3C4fL/AgMBAAGjbzBtMB0GA1Ud
DgQWBBSF97N0AEMv6VdOnydQzrmkhHCB6TAfBgNVHSMEGDAWgBSF97N0AEMv6VdO
nydQzrmkhHCB6TAPBgNVHRMBAf8EBTADAQH/MBoGA1UdEQQTMBGCCWxvY2FsaG9z
dIcEfwAAATANBgkqhkiG9w0BAQsFAAOCAQEAXdU3UyUCewVVrb8x/M2H6FsvXsRq
3VbcPLXPZ7IWFED2eeviBnUeId1OKpkOnw4MIWoauwsFCHizBI9soVYbNUiZsZ1Y
9oeENWf8iipfF0ZDnALHhFlB4wCSvUUbKbI0A6cw9IStE8h9ueWw0TaN1CR+6eRU
g7XnE7XS+euuVWyaEEUO7gvqWB/xWt9tEIRZ0FWLNN6D/RtYRMd7H/4Gks0v8EIY
L7CLeIM3n9VPozpQ7xYoXromAjvvKj2GAWlG7QCFPrl72r9zawnDQ4566BSIMzGm
XAIUcuKgfp6++htTlcuXlRrf4wbEBEwSdgxzN6wO9fl6s/gKTp4wkSW8Tg==
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCebfGLegRgZxMb
L64BP8YO429Is4nPddiUMo8L7882l71BLM8usflJVJC3mz/tRxDm+psTx7g3M5Ck
j81KwxrWzE3IQqDO9CWuDQYA1DwI2MIHwoWt1TMZ8hvDwkQGZz40B+g6CuDZZS73
u7k506eaP/f1tPc9NhCSCHARqCX8wwqcGCaNFsF+wxmzM6ktUfZ7OSyhuxOWdZJY
+GPU/UbdPjC6PDB9LT/ef2/4iGegVT7RRtn11TWiYGMFcOegF+HxH5nr8+7454YL
Gx07OMnqC9yBCb+ZzIYzFMtPbXBrPx52VdqO4TMPmCBCdYJueffJGN0Wt/khXPWz
/v3C4fL/AgMBAAECggEADv4KKBqgCbwSAktvn32jUVWzemvxuXiw9KFDiSvPQ57L
ZudbJH5CFW7pElRLkeQyP3FtYHX7baSLEQ+XVqECTAZhwUw7fyolMK8vJ2qY0yDU
B7ugPomDlaEkKyZvR93YSes0+N0pAa7svr58h5zgakftv/Tj8AkgO07iGsGl9UvH
pOxbTRdDA+aa71IcC1juW7OcLjYd57AtMqTMdx1kS6C/TLO+sgyfvQvFT02uoQD4
l4obbTuxFOcWG4EWyRvlc92viQa4akIy4VL/L8W/eTLEAnJsT0jxxZ7v9Dxuyb9y
JE/itaRgoVXdggTJB0kRm9Yi1VB1tO5UDoG/YNsVNQKBgQDKXTVQsTRP+c9cA0Pr
xcBEIvy29T2uXrY+E8iiH3+Ys1xC7zj4ZAxI1/fNEcRky9+w/YMuozkWzivAnAFz
UJJeUACJQNmHiEl68urfYd12TqukGAX4BFWtu4rzU8YsYkYBg2VQugi1Bri5f/90
X+BVhMQPX6MacIeuv23rQHi4FQKBgQDIa6/CGkYZIt0LdxS3hG/zP8Cval0f9gzF
ibcaZgeS1jB777F3FVMq+xMkRVdO1DpgvMAdI9K2JMtQGXw9FEepyz8wwNwjcSRz
8mO/1iPG2Am2pormWt+LkCi6GO5dxzwjuMHIfY87qhdm0cbo8C5XtzZAMffX94jB
QyeQNDKPwwKBgQCG9GYr7CGQ/G43VM4lHHo+dn7GnQKHmQ48lAEHba4wbd0nnlYG
AOLYaX8OubyZ5ATICilEHwJhnRk8mE23U5JpZz0US7VGV7N5VSsh0ihZT9nT01mX
r3xcImhmIgZVbyx0seYNUiOgZl0nCJ+aQp5fKe1+uy8Q4N77wRpS+2oGiQKBgE5r
bFLriuAM9yakSnPgGxm3qUI5wQRfdvHYB9AJeg8nRcNIr0ykCG253eyEQTwz6D+v
uw/r02e3j+Hghu8zPzMdtrTx0XEAtT206vjF5ivInkxcb97gUbW/C2B9ns8MxOhJ
Q3GaR3AWBqARlt3QFKH3qv+FTa+wSE8uYo2XDu2XAoGAW90r5ywsuf/hC+otJkSX
TjOAdNT2svH5Yb5kv6QuLlzUOxIrlLdu/5IZ3nrSQ+mcmVAQtTDgsv15Np7RH3S9
MId7w1594VmRhS69FtpXgDnEyuFf3BdpuZgSgLnoR6DIsZH/6JMhlED12O1VuYYE
c9NIOQ/ugKIPeZY90XHWcT8=
-----END PRIVATE KEY-----
`,
}

/** RSA of 1024 bits, which must be refused */
export const WEAK = {
  cert: `-----BEGIN CERTIFICATE-----
MIICHDCCAYWgAwIBAgIUPLWI+snnGuIkhpWz0rkLqkh4P+gwDQYJKoZIhvcNAQEL
BQAwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjAwMDcwNloYDzIxMjYx
MDI5MDAwNzA2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwgZ8wDQYJKoZIhvcNAQEB
BQADgY0AMIGJAoGBAMqoPjxnAxXE/IfLj0haHrsyzeuIiLL+XN2vU+ULxDpT+orA
tX5GsbWPz29mgNJuNJmqBGp9zRu7cxUUIHZbHnfb3mdQDsvm4v+UI/d6KmNUVb5a
+1u6Cu1cwcFhaR+FEQGzprF3/+ZdjlNCgvw9Ucg2KHR2k/jFqe7B8LOj0YhpAgMB
AAGjaTBnMB0GA1UdDgQWBBSZ6Vw3G1YKjJGi4/uAhhmmC5cKwTAfBgNVHSMEGDAW
gBSZ6Vw3G1YKjJGi4/uAhhmmC5cKwTAPBgNVHRMBAf8EBTADAQH/MBQGA1UdEQQN
MAuCCWxvY2FsaG9zdDANBgkqhkiG9w0BAQsFAAOBgQBoCIJzsxNsJbVykLmZ7q3j
gCxRJjYnVa+fXBbbiTf6YrW4YPzBextZqMmgy/44B5TWKNWR2n1yQ7i01bsp4AGN
5Qvx/HXGcC31WNWog2WAiJFCnaFu22PfqhVP02IfbdBhkTesfX18WEzPEf1OplLT
D/kn7QJBOOaAObu3TquxxQ==
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBAMqoPjxnAxXE/IfL
j0haHrsyzeuIiLL+XN2vU+ULxDpT+orAtX5GsbWPz29mgNJuNJmqBGp9zRu7cxUU
IHZbHnfb3mdQDsvm4v+UI/d6KmNUVb5a+1u6Cu1cwcFhaR+FEQGzprF3/+ZdjlNC
gvw9Ucg2KHR2k/jFqe7B8LOj0YhpAgMBAAECgYEAoj3NDWhe1OfOUBzMSd00KyQC
LSUyYzI2QJfjr0QbRaMDul+LLVwFW1iVdhb23QCzha3SOTsboK8R8/cYAgjyuw8h
CH0EtS+mmaAs1c+IXvNNJbdZ4YUUjh1kJXMRB9CUj2N7ZtHYjJPMtKK11yVqA15J
UCtHXx1D/fcfiH413z0CQQDu9TYeu/Eg9zmSC0kjjuCZPZqOnpTe5vQtOl8GFg2y
K++Cafrl3DvPZMZtw9UpkIeRL0HDquV3Hxs+ZTCVbpU/AkEA2RxFJMmymbdJM+gQ
bJouX/0C1iM1AWS+nEWGVxjCGUB6rnHfB0ia4uYkHEJ4A1cddqk8C21josM79Cuh
q38wVwJBAKRhJLCxwudVilHv14lRcSmZWif/6RMJNzGhtNp/8z38wU8qToEvJim9
/k5l584m8UsrggbzGdT/HgOnImu5XYsCQGUtDHfZWtbRmFaNJeJGc6gd002ReKke
lsliiPlbu1BjQQi8XjAZwLxOfbOBskX0OfHLagT1REJcczsVfjDag98CQBjVkP5k
8XL8es3CuuD8AW5t9+Whs8WhsHgt4RDqaqTMUIO2dEdE1ETeyWuK1b4GK5Qbgywh
kabRSwc7ByAxCK8=
-----END PRIVATE KEY-----
`,
}
