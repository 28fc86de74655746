/** The settings of where servers are, where they listen, and how. */
import * as read from './parsers.ts'
import { apart, auth, type Setting, servers } from './setting.ts'

export const addresses = {
  authUrl: {
    name: 'AUTH_URL',
    words: 'Origin of the auth service as browsers and apps reach it: its issuer. https, or http on loopback; no path.',
    usedBy: apart,
    parse: read.origin,
  },
  loginUrl: {
    name: 'LOGIN_URL',
    words: 'Origin of the login server as browsers reach it: an origin of its own, which serves nothing else.',
    usedBy: apart,
    parse: read.origin,
  },
  authBackendUrl: {
    name: 'AUTH_BACKEND_URL',
    words: 'Where the login server reaches the auth service when not through its public address, as in http://127.0.0.1:4000.',
    usedBy: ['login-server'],
    parse: read.origin,
    otherwise: 'GRANTOR_AUTH_URL',
  },
  listen: {
    name: 'LISTEN',
    words: 'Where the auth service listens, host:port.',
    usedBy: ['serve'],
    parse: read.hostAndPort,
    otherwise: '127.0.0.1 and the port of GRANTOR_AUTH_URL',
  },
  loginListen: {
    name: 'LOGIN_LISTEN',
    words: 'Where the login server listens, host:port.',
    usedBy: ['login-server'],
    parse: read.hostAndPort,
    otherwise: '127.0.0.1 and the port of GRANTOR_LOGIN_URL',
  },
  metricsListen: {
    name: 'METRICS_LISTEN',
    words: 'Where the auth service serves /metrics for Prometheus, host:port. Keep it away from the internet.',
    usedBy: auth,
    parse: read.hostAndPort,
    otherwise: 'off',
  },
  tlsCertFile: {
    name: 'TLS_CERT_FILE',
    words:
      'A PEM file: the certificate of the server and its chain. With GRANTOR_TLS_KEY_FILE the program speaks TLS 1.2 and 1.3 itself, for those who run it without a proxy. A renewed file is taken up within a minute, or at SIGHUP.',
    usedBy: servers,
    parse: read.file,
    otherwise: 'none: plain http, behind a proxy that speaks TLS',
  },
  tlsKeyFile: {
    name: 'TLS_KEY_FILE',
    words: 'A PEM file: the private key of that certificate, without a passphrase. RSA keys have at least 2048 bits.',
    usedBy: servers,
    parse: read.file,
    otherwise: 'none',
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    words: 'Reverse proxies whose X-Forwarded-For is believed for the client address: IPs or networks, separated by commas.',
    usedBy: servers,
    parse: read.networks,
    preset: '',
    otherwise: 'none',
  },
} satisfies Record<string, Setting>
