/** The commands that are no operation. A command is loaded only when it is used. */
import type { CommandEntry } from '../operators/terminal/command.ts'

export const ownCommands: readonly CommandEntry[] = [
  { name: 'start', load: async () => (await import('./commands/start.ts')).start },
  { name: 'test-token', load: async () => (await import('./commands/test-token.ts')).testToken },
  { name: 'init', load: async () => (await import('./commands/init.ts')).init },
  { name: 'serve', load: async () => (await import('./commands/serve.ts')).serve },
  { name: 'login-server', load: async () => (await import('./commands/login-server.ts')).loginServer },
  { name: 'migrate', load: async () => (await import('./commands/migrate.ts')).migrate },
  { name: 'doctor', load: async () => (await import('./commands/doctor.ts')).doctor },
  { name: 'apply', load: async () => (await import('./commands/apply.ts')).apply },
  { name: 'export', load: async () => (await import('./commands/export.ts')).exportCommand },
  { name: 'settings', load: async () => (await import('./commands/settings.ts')).settings },
  { name: 'verify-receipt', load: async () => (await import('./commands/verify-receipt.ts')).verifyReceipt },
  { name: 'clients import', load: async () => (await import('./commands/clients-import.ts')).clientsImport },
  { name: 'clients create', load: async () => (await import('./commands/clients-create.ts')).clientsCreate },
  { name: 'clients setup', load: async () => (await import('./commands/clients-setup.ts')).clientsSetup },
  { name: 'grants revoke', load: async () => (await import('./commands/grants-revoke.ts')).grantsRevoke },
  { name: 'jobs watch', load: async () => (await import('./commands/jobs-watch.ts')).jobsWatch },
  { name: 'keys list', load: async () => (await import('./commands/keys-list.ts')).keysList },
  { name: 'keys rewrap', load: async () => (await import('./commands/keys-rewrap.ts')).keysRewrap },
  { name: 'keys rotate', load: async () => (await import('./commands/keys-rotate.ts')).keysRotate },
  { name: 'audit export', load: async () => (await import('./commands/audit-export.ts')).auditExport },
  { name: 'audit verify', load: async () => (await import('./commands/audit-verify.ts')).auditVerify },
]
