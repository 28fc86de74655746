/** The settings for the servers' addresses, listeners, TLS and proxies. */
import * as read from './parsers.ts'
import { apart, auth, type Setting, servers } from './setting.ts'

export const addresses = {
  authUrl: {
    name: 'AUTH_URL',
    words: 'Origin of the auth service as browsers and apps reach it. It is the issuer. https, or http on loopback; no path.',
    usedBy: [...apart, 'clients'],
    parse: read.origin,
  },
  loginUrl: {
    name: 'LOGIN_URL',
    words: 'Origin of the login server as browsers reach it. This origin serves nothing else.',
    usedBy: [...apart, 'clients'],
    parse: read.origin,
  },
  authBackendUrl: {
    name: 'AUTH_BACKEND_URL',
    words: 'Address of the auth service for the login server, if not its public address, such as http://127.0.0.1:4000.',
    usedBy: ['login-server'],
    parse: read.origin,
    otherwise: 'GRANTOR_AUTH_URL',
  },
  listen: {
    name: 'LISTEN',
    words: 'Address on which the auth service listens, host:port.',
    usedBy: ['serve'],
    parse: read.hostAndPort,
    otherwise: '127.0.0.1 and the port of GRANTOR_AUTH_URL',
  },
  loginListen: {
    name: 'LOGIN_LISTEN',
    words: 'Address on which the login server listens, host:port.',
    usedBy: ['login-server'],
    parse: read.hostAndPort,
    otherwise: '127.0.0.1 and the port of GRANTOR_LOGIN_URL',
  },
  adminUrl: {
    name: 'ADMIN_URL',
    words:
      'Origin of the admin API and of the console, `/console`, as operators reach it. Setting it turns both on. Keep it away from the internet if you can. The first operator: `grantor operators add`.',
    usedBy: ['serve'],
    parse: read.origin,
    otherwise: 'off',
  },
  adminListen: {
    name: 'ADMIN_LISTEN',
    words: 'Address on which the admin API listens, host:port.',
    usedBy: ['serve'],
    parse: read.hostAndPort,
    otherwise: '127.0.0.1 and the port of GRANTOR_ADMIN_URL',
  },
  metricsListen: {
    name: 'METRICS_LISTEN',
    words: 'Address on which the auth service serves /metrics for Prometheus, host:port. Keep it away from the internet.',
    usedBy: auth,
    parse: read.hostAndPort,
    otherwise: 'off',
  },
  loginMetricsListen: {
    name: 'LOGIN_METRICS_LISTEN',
    words: 'Address on which the login server serves /metrics for Prometheus, host:port. Keep it away from the internet.',
    usedBy: ['login-server'],
    parse: read.hostAndPort,
    otherwise: 'off',
  },
  tlsCertFile: {
    name: 'TLS_CERT_FILE',
    words:
      'A PEM file: the certificate of the server and its chain. With GRANTOR_TLS_KEY_FILE the program itself serves TLS 1.2 and 1.3, for deployments without a proxy. A renewed file is loaded within a minute, or at SIGHUP.',
    usedBy: servers,
    parse: read.file,
    otherwise: 'none: plain http, behind a proxy that terminates TLS',
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
    words: 'Reverse proxies whose X-Forwarded-For is trusted for the client address: IPs or networks, separated by commas.',
    usedBy: servers,
    parse: read.networks,
    preset: '',
    otherwise: 'none',
  },
} satisfies Record<string, Setting>
