/** All checks, in the order of the output. */
import {
  checkAdminApi,
  checkAuthUrl,
  checkLoginApi,
  checkLoginReachesAuth,
  checkLoginUrl,
  checkMetrics,
  checkPlainHttp,
  checkReadiness,
} from './addresses.ts'
import { checkCertificates } from './certificates.ts'
import { checkChainEndpoints } from './chains.ts'
import type { Check } from './check.ts'
import { checkServiceClocks } from './clocks.ts'
import { checkDatabase, checkSchema } from './databases.ts'
import { checkHook } from './hook.ts'
import { checkKeys, checkSecretFiles } from './keys.ts'
import { checkLook } from './look.ts'
import { checkMachine } from './machine.ts'
import { checkProxies } from './proxies.ts'
import { checkSignIn } from './sign-in.ts'
import { checkTexts } from './texts.ts'

export const checks: readonly Check[] = [
  { name: 'auth URL', run: checkAuthUrl },
  { name: 'auth service', run: checkReadiness },
  { name: 'login URL', run: checkLoginUrl },
  { name: 'login to auth', run: checkLoginReachesAuth },
  { name: 'login API', run: checkLoginApi },
  { name: 'certificates', run: checkCertificates },
  { name: 'plain http', run: checkPlainHttp },
  { name: 'proxies', run: checkProxies },
  { name: 'clocks', run: checkServiceClocks },
  { name: 'database', run: checkDatabase },
  { name: 'schema', run: checkSchema },
  { name: 'keys', run: checkKeys },
  { name: 'secret files', run: checkSecretFiles },
  { name: 'chains', run: checkChainEndpoints },
  { name: 'hook', run: checkHook },
  { name: 'admin API', run: checkAdminApi },
  { name: 'metrics', run: checkMetrics },
  { name: 'sign-in', run: checkSignIn },
  { name: 'texts', run: checkTexts },
  { name: 'look', run: checkLook },
  { name: 'machine', run: checkMachine },
]
