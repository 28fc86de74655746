/** Do both URLs lead to the right server, and do the two servers reach each other? */
import { isLoopbackHost, type ListenAddress } from '../../config/parsers.ts'
import { type Answered, call, jsonOfCall, printable, reasonOf } from './call.ts'
import { type CheckResult, ok, type Site, unchecked, warning, wrong } from './check.ts'

const DISCOVERY = '/.well-known/openid-configuration'

/** The document must name the issuer that apps use (OpenID Connect Discovery §4.3), and endpoints below it. */
export async function checkAuthUrl({ settings: { authUrl } }: Site): Promise<CheckResult[]> {
  return checkAnswer(`${authUrl}${DISCOVERY}`, 'GRANTOR_AUTH_URL', (answer) => {
    const { issuer, ...members } = jsonOfCall(answer) ?? {}
    if (typeof issuer !== 'string')
      return wrong(
        `${authUrl}${DISCOVERY} answers ${answer.status} without a discovery document`,
        'Let the proxy forward every path of GRANTOR_AUTH_URL unchanged to grantor serve.',
      )
    if (issuer !== authUrl)
      return wrong(
        `the issuer at ${authUrl} is ${printable(issuer)}`,
        'Set GRANTOR_AUTH_URL of grantor serve and of this command to the same public URL.',
      )
    const endpoints = Object.entries(members).filter(([name]) => name.endsWith('_endpoint') || name === 'jwks_uri')
    const foreign = endpoints.find(([, url]) => typeof url !== 'string' || !url.startsWith(`${authUrl}/`))
    if (foreign)
      return wrong(
        `${foreign[0]} is not below ${authUrl}`,
        'Find the proxy that changes the discovery document, and let it forward responses unchanged.',
      )
    return ok(`${authUrl} is the issuer, and names ${endpoints.length} endpoints`)
  })
}

export async function checkReadiness({ settings: { authUrl } }: Site): Promise<CheckResult[]> {
  return checkAnswer(`${authUrl}/health/ready`, 'GRANTOR_AUTH_URL', (answer) => {
    const { status, problem } = jsonOfCall(answer) ?? {}
    if (answer.status === 200 && status === 'ready') return ok('grantor serve is ready')
    if (typeof problem === 'string')
      return wrong(`grantor serve is not ready: ${printable(problem)}`, 'See "Health" in docs/operating/operations.md.')
    return wrong(`/health/ready answers ${answer.status}`, 'Let the proxy forward /health/ready to grantor serve.')
  })
}

export async function checkLoginUrl({ settings: { loginUrl } }: Site): Promise<CheckResult[]> {
  return checkAnswer(`${loginUrl}/health/ready`, 'GRANTOR_LOGIN_URL', (answer) => {
    const { status, problem } = jsonOfCall(answer) ?? {}
    if (answer.status === 200 && status === 'ok') return ok(`${loginUrl} is the login server, and it is ready`)
    if (status === 'ready')
      return wrong(`${loginUrl} leads to grantor serve`, 'Let the proxy forward GRANTOR_LOGIN_URL to grantor login-server.')
    if (problem === 'stopping') return wrong('the login server is stopping', 'Start grantor login-server again.')
    return wrong(
      `${loginUrl}/health/ready answers ${answer.status}, and not as a login server`,
      'Let the proxy forward every path of GRANTOR_LOGIN_URL unchanged to grantor login-server.',
    )
  })
}

/** The auth service refuses an unknown challenge. So a refusal on the login page shows that the login server reaches the auth service. */
export async function checkLoginReachesAuth({ settings: { loginUrl } }: Site): Promise<CheckResult[]> {
  return checkAnswer(`${loginUrl}/login?login_challenge=grantor-doctor`, 'GRANTOR_LOGIN_URL', (answer) => {
    if (answer.status === 400 || answer.status === 410)
      return ok('the login server reaches the auth service, with the right secret')
    if (answer.status === 503)
      return wrong(
        'the login server does not reach the auth service, or has another GRANTOR_LOGIN_SECRET',
        'Check GRANTOR_AUTH_BACKEND_URL and GRANTOR_LOGIN_SECRET of grantor login-server, and its log.',
      )
    return unchecked(`the login page answers ${answer.status}`, 'Check that GRANTOR_LOGIN_URL leads to grantor login-server.')
  })
}

/** Only the login server calls this API. With GRANTOR_AUTH_BACKEND_URL it does not use the public URL, so the proxy should refuse the paths. */
export async function checkLoginApi({ settings: { authUrl, authBackendUrl } }: Site): Promise<CheckResult[]> {
  if (authBackendUrl === undefined) return [ok('the login server uses the public URL of the auth service')]
  const answer = await call(`${authUrl}/login/challenge`).catch(() => null)
  if (answer === null) return [unchecked('the API of the login server could not be called', 'See the check of the auth URL.')]
  if (answer.status !== 401 && answer.status !== 429) return [ok('the API of the login server is not public')]
  return [
    warning(
      'the API of the login server is public',
      'Let the proxy answer 404 to /login/challenge, /login/message, /login/accept and /login/reject of GRANTOR_AUTH_URL.',
    ),
  ]
}

/** The metrics contain no secrets, but they show the load and the state of the service. */
export async function checkMetrics({ settings }: Site): Promise<CheckResult[]> {
  const { authUrl, loginUrl, metricsListen, loginMetricsListen } = settings
  const remedy = 'Let the proxy forward only the listeners of grantor serve and grantor login-server.'
  for (const url of [authUrl, loginUrl]) {
    const answer = await call(`${url}/metrics`).catch(() => null)
    if (answer?.status === 200 && answer.body.includes('grantor_')) return [wrong(`${url}/metrics is public`, remedy)]
  }
  return [
    checkMetricsListener('the metrics listener', metricsListen),
    checkMetricsListener('the metrics listener of the login server', loginMetricsListen),
  ]
}

function checkMetricsListener(name: string, address: ListenAddress | undefined): CheckResult {
  if (!address) return ok(`${name} is off`)
  const { host, port } = address
  const isPrivate = isLoopbackHost(host.includes(':') ? `[${host}]` : host) || PRIVATE.test(host)
  return isPrivate
    ? ok(`${name} is at ${host}:${port}, and is not public`)
    : warning(`${name} is at ${host}:${port}`, 'Check that a firewall keeps this port away from the internet.')
}

/** The admin API has an origin of its own, and must not be reachable through the other two. */
export async function checkAdminApi({ settings: { authUrl, loginUrl, adminUrl } }: Site): Promise<CheckResult[]> {
  if (adminUrl === undefined) return [ok('the admin API is off')]
  for (const url of [authUrl, loginUrl]) {
    const answer = await call(`${url}/v1/clients`).catch(() => null)
    if (answer?.status === 401)
      return [wrong(`the admin API answers at ${url}`, 'Let the proxy forward only GRANTOR_ADMIN_URL to GRANTOR_ADMIN_LISTEN.')]
  }
  return checkAnswer(`${adminUrl}/openapi.json`, 'GRANTOR_ADMIN_URL', (answer) =>
    typeof jsonOfCall(answer)?.openapi === 'string'
      ? ok(`the admin API answers at ${adminUrl} only`)
      : wrong(
          `${adminUrl}/openapi.json answers ${answer.status}`,
          'Let the proxy forward GRANTOR_ADMIN_URL to GRANTOR_ADMIN_LISTEN.',
        ),
  )
}

/** RFC 1918, RFC 4193 */
const PRIVATE = /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|f[cd][0-9a-f]{2}:)/i

/** Codes and cookies must never travel over plain http. A redirect to https is fine. */
export async function checkPlainHttp({ settings: { authUrl, loginUrl, adminUrl } }: Site): Promise<CheckResult[]> {
  const usual = [authUrl, loginUrl, ...(adminUrl === undefined ? [] : [adminUrl])]
    .map((url) => new URL(url))
    .filter(({ protocol, port }) => protocol === 'https:' && port === '')
  if (usual.length === 0) return [ok('no URL is https at the usual port, so nothing is expected at port 80')]
  const answers = await Promise.all(
    usual.map(async ({ hostname }) => ({ hostname, answer: await call(`http://${hostname}/health/live`).catch(() => null) })),
  )
  const plain = answers.find(({ answer }) => answer?.status === 200)
  return plain
    ? [wrong(`http://${plain.hostname} answers without TLS`, 'Let the proxy redirect http to https, or close port 80.')]
    : [ok('plain http is closed or redirected')]
}

/** Calls the URL, and judges the answer unless the URL cannot be reached, redirects, or is answered by the proxy alone. */
async function checkAnswer(url: string, setting: string, judge: (answer: Answered) => CheckResult): Promise<CheckResult[]> {
  let answer: Answered
  try {
    answer = await call(url)
  } catch (error) {
    return [
      wrong(
        `${new URL(url).origin} cannot be reached from here (${printable(reasonOf(error))})`,
        `Check that ${setting} is right, that its name resolves here, and that the proxy and the service run.`,
      ),
    ]
  }
  const { status, headers } = answer
  if (status >= 300 && status < 400)
    return [
      wrong(
        `${new URL(url).origin} redirects to ${printable(headers.location ?? 'nowhere')}`,
        `Set ${setting} to the URL that answers without a redirect, or remove the redirect.`,
      ),
    ]
  if (status === 502 || status === 504)
    return [
      wrong(
        `the proxy answers ${status}`,
        'Start the service behind the proxy, and check the address that the proxy forwards to.',
      ),
    ]
  return [judge(answer)]
}
