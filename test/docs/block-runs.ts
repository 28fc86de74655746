/**
 * Where each block of the pages in docs/guides and docs/operating is run. A block of a page is found by its mark, or by a part of its text that no
 * other block of the page has. `whole` stands for all blocks of the page: the named test runs each of them, and fails if there is another.
 */
type Run = { by: string } | { notRun: string }

const by = (file: string): Run => ({ by: `test/${file}.test.ts` })
const notRun = (reason: string): Run => ({ notRun: reason })

const SETTINGS = by('docs/settings-blocks')
const COMMANDS = by('docs/operating-commands')
const BACKUP = by('cli/backup/restored')
const POSTGRES_BACKUP = by('cli/backup/postgres-backup')
const POSTGRES_RECOVERY = by('cli/backup/postgres-recovery')
const CITUS = by('citus/recovery')
const PACKED: Run = { by: '.ci/try-package' }
const LIBRARIES = by('clients/libraries')
const CONNECT = by('clients/connect-guide')
const MCP = by('clients/mcp-guide')
const MCP_PYTHON = by('clients/mcp-python')

export const blockRuns: Readonly<Record<string, { whole: Run } | Readonly<Record<string, Run>>>> = {
  'guides/builders.md': { whole: by('clients/builders-guide') },
  'guides/checking-tokens.md': {
    'sh api': notRun('the command of resource-package.md and builders.md, which are run, with another name'),
    "check: 'feed',": notRun('the same call as in .ci/token-cases.mjs and test/resource/feed, with the addresses of an example'),
    'js sidecar': by('clients/checking-tokens'),
    'nginx sidecar': by('clients/checking-tokens'),
    ext_authz: notRun('needs Envoy, which no package registry of the project has'),
  },
  'guides/clients.md': {
    'sh openid-client': LIBRARIES,
    'js openid-client': LIBRARIES,
    'sh openid-client-keys': LIBRARIES,
    'js openid-client-keys': LIBRARIES,
    'sh oauth4webapi': LIBRARIES,
    'js oauth4webapi': LIBRARIES,
    'sh simple-oauth2': LIBRARIES,
    'js simple-oauth2': LIBRARIES,
    'sh passport-oauth2': by('clients/frameworks'),
    'js passport-oauth2': by('clients/frameworks'),
    'sh oidc-client-ts': by('clients/browser-app'),
    'js oidc-client-ts': by('clients/browser-app'),
    'sh auth-js': by('clients/frameworks'),
    'js auth-js': by('clients/frameworks'),
    'sh authlib': by('clients/authlib'),
    'python authlib': by('clients/authlib'),
    'sh mod_auth_openidc': by('clients/mod-auth-openidc'),
    'apache mod_auth_openidc': by('clients/mod-auth-openidc'),
    'sh mod_auth_openidc-api': by('clients/mod-auth-openidc'),
    'apache mod_auth_openidc-api': by('clients/mod-auth-openidc'),
    'xml spring': by('clients/spring'),
    'sh spring-login': by('clients/spring'),
    'properties spring-login': by('clients/spring'),
    'java spring-login': by('clients/spring'),
    'java spring-api': by('clients/spring'),
  },
  'guides/coming-from-elsewhere.md': {
    'js accounts': by('clients/coming-from-elsewhere'),
    'sh register': by('clients/coming-from-elsewhere'),
    'js link': by('clients/coming-from-elsewhere'),
  },
  'guides/connect-package.md': {
    'npm install': PACKED,
    'sh react': CONNECT,
    'jsx react': by('connect/browser'),
    'js callback': by('connect/browser'),
    'js pages': by('connect/browser'),
    'sh authjs': CONNECT,
    'js authjs': CONNECT,
    'sh nextauth': CONNECT,
    'js nextauth': CONNECT,
    'js nextauth-by-hand': CONNECT,
    'sh better-auth': CONNECT,
    'js better-auth': CONNECT,
    'js better-auth-by-hand': CONNECT,
    'sh passport': CONNECT,
    'js passport': CONNECT,
  },
  'guides/create-app.md': { 'npm create': PACKED, 'sh grantor-json': by('create-app/guide') },
  'guides/devices.md': { whole: by('clients/devices-guide') },
  'guides/languages.md': { 'ui_locales=': notRun('an address with an ellipsis, as an example of one parameter') },
  'guides/mcp.md': {
    'curl -si': MCP,
    'sh api': MCP,
    'sh agent': MCP,
    'js resource': MCP,
    'js fastify': MCP,
    'js express': MCP,
    'js hono': MCP,
    'js next': MCP,
    'js next-metadata': MCP,
    'js mcp': MCP,
    'js mcp-1': MCP,
    'python fastmcp': MCP_PYTHON,
    'python fastmcp-jwt': MCP_PYTHON,
    'python mcp-sdk': MCP_PYTHON,
    "app.post('/transfer'": MCP,
    'pay.much': MCP,
    'resources create': MCP,
  },
  'guides/own-login-server.md': {
    'grantor migrate': by('flows/own-login-server-faults'),
    'app ──> GET': notRun('a drawing'),
    'authenticatedWallet:': by('flows/own-login-server-faults'),
  },
  'guides/resource-languages.md': {
    'python fastapi': by('clients/resource-languages'),
    'sh fastapi': by('clients/resource-languages'),
    'go go': by('clients/resource-languages'),
  },
  'guides/resource-package.md': { 'npm install': PACKED, createTokenCheck: by('clients/resource-runtimes') },
  'guides/testing.md': { whole: by('clients/testing-guide') },
  'guides/users.md': { 'wants you to sign in': by('wallet/short-consent') },
  'guides/wallets.md': { GRANTOR_WALLET_WINDOW: SETTINGS },
  'operating/admin-api.md': {
    GRANTOR_ADMIN_LISTEN: SETTINGS,
    '--role owner': COMMANDS,
    'openssl genpkey': COMMANDS,
    clientCredentialsGrant: COMMANDS,
  },
  'operating/apply.md': {
    'grantor export': COMMANDS,
    'open_to:': COMMANDS,
    'to create, 1 to change': COMMANDS,
    'clients import': COMMANDS,
  },
  'operating/audit.md': {
    'audit list': COMMANDS,
    'audit export': COMMANDS,
    'webhooks create': COMMANDS,
    'webhooks update': COMMANDS,
    'audit verify': COMMANDS,
  },
  'operating/branding.md': { whole: by('docs/branding') },
  'operating/clients-and-grants.md': { 'resources create': COMMANDS, 'access-token-lifetime': COMMANDS, 'grants list': COMMANDS },
  'operating/hook.md': { whole: by('docs/hook-page') },
  'operating/init-and-doctor.md': {
    '--for systemd': COMMANDS,
    '--dir ./grantor': COMMANDS,
    setpriv: COMMANDS,
    'WRONG    proxies': notRun('output; test/cli/doctor shows the words of each check'),
  },
  'operating/install.md': {
    'npm pack': PACKED,
    useradd: COMMANDS,
    'sudo -u grantor --preserve-env grantor migrate': COMMANDS,
    'systemctl enable': COMMANDS,
    'npm run image': by('packages/image'),
    skopeo: notRun('needs a registry and a Docker daemon'),
    'docker compose up': COMMANDS,
    'helm install': COMMANDS,
    'kubectl exec': COMMANDS,
  },
  'operating/keys.md': {
    'sh change-secret-1': by('cli/serve/change-secret'),
    'sh change-secret-2': by('cli/serve/change-secret'),
    'sh change-secret-3': by('cli/serve/change-secret'),
    'sh change-login-secret': by('cli/serve/change-secret'),
  },
  'operating/operations.md': {
    'backend grantor': by('packages/proxies'),
    'systemctl restart': COMMANDS,
    server_name: by('packages/proxies'),
    GRANTOR_TLS_CERT_FILE: SETTINGS,
  },
  'operating/postgresql.md': { 'CREATE ROLE': COMMANDS, 'sslrootcert=': SETTINGS },
  'operating/recover.md': {
    'sh backup-sqlite3': BACKUP,
    'sh backup-node': BACKUP,
    'sh backup-postgres': POSTGRES_BACKUP,
    'sh restore-sqlite': BACKUP,
    'sh restore-postgres': POSTGRES_BACKUP,
    'sh restore-citus': by('citus/backup'),
    'sh wal-receive': POSTGRES_RECOVERY,
    'sh wal-wait': POSTGRES_RECOVERY,
    'sh base-backup': POSTGRES_RECOVERY,
    'sh recover-postgres': POSTGRES_RECOVERY,
    'sh protect-again': POSTGRES_RECOVERY,
    'sh promote-standby': CITUS,
    'sh move-machine': CITUS,
    'sh restore-point': CITUS,
    'sh recover-to-point': CITUS,
    'sh add-worker': CITUS,
    'yaml litestream': by('cli/backup/litestream'),
    'Description=Litestream': by('packages/systemd'),
    'sh restore-litestream': by('cli/backup/litestream'),
    'sh complete-replica': by('cli/backup/litestream'),
  },
  'operating/scaling.md': {
    'CREATE EXTENSION': notRun('test/citus/cluster.ts calls the same functions, with ports of its own'),
    citus_set_coordinator_host: notRun('test/citus/cluster.ts calls the same functions, with ports of its own'),
    'grantor migrate': COMMANDS,
  },
  'operating/upgrade.md': { 'before-update': COMMANDS, 'grantor-old export': COMMANDS },
  'operating/walletconnect.md': { 'npm install': PACKED, 'PROJECT_ID=': SETTINGS },
  'operating/watch.md': {
    rule_files: SETTINGS,
    OTEL_EXPORTER: SETTINGS,
    'sh sender-log': notRun('the log of a systemd unit; the test of the next block writes that file'),
    'sh sender': by('docs/find-a-sender'),
    'sh sender-ids': by('docs/find-a-sender'),
  },
}
