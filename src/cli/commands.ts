/** Every command, in the order of `grantor --help`. A command is loaded only when it is used. */
import type { Command } from './terminal/command.ts'

export type CommandEntry = { name: string; load(): Promise<Command> }

export const commands: readonly CommandEntry[] = [
  { name: 'start', load: async () => (await import('./commands/start.ts')).start },
  { name: 'init', load: async () => (await import('./commands/init.ts')).init },
  { name: 'serve', load: async () => (await import('./commands/serve.ts')).serve },
  { name: 'login-server', load: async () => (await import('./commands/login-server.ts')).loginServer },
  { name: 'migrate', load: async () => (await import('./commands/migrate.ts')).migrate },
  { name: 'doctor', load: async () => (await import('./commands/doctor.ts')).doctor },
  { name: 'clients create', load: async () => (await import('./commands/clients-create.ts')).clientsCreate },
  { name: 'clients list', load: async () => (await import('./commands/clients-list.ts')).clientsList },
  { name: 'clients show', load: async () => (await import('./commands/clients-show.ts')).clientsShow },
  { name: 'clients update', load: async () => (await import('./commands/clients-update.ts')).clientsUpdate },
  { name: 'clients rotate-secret', load: async () => (await import('./commands/clients-rotate-secret.ts')).clientsRotateSecret },
  { name: 'clients disable', load: async () => (await import('./commands/clients-disable.ts')).clientsDisable },
  { name: 'clients enable', load: async () => (await import('./commands/clients-enable.ts')).clientsEnable },
  { name: 'clients delete', load: async () => (await import('./commands/clients-delete.ts')).clientsDelete },
  { name: 'resources create', load: async () => (await import('./commands/resources-create.ts')).resourcesCreate },
  { name: 'resources list', load: async () => (await import('./commands/resources-list.ts')).resourcesList },
  { name: 'resources show', load: async () => (await import('./commands/resources-show.ts')).resourcesShow },
  { name: 'resources update', load: async () => (await import('./commands/resources-update.ts')).resourcesUpdate },
  { name: 'resources delete', load: async () => (await import('./commands/resources-delete.ts')).resourcesDelete },
  { name: 'operators add', load: async () => (await import('./commands/operators-add.ts')).operatorsAdd },
  { name: 'operators list', load: async () => (await import('./commands/operators-list.ts')).operatorsList },
  { name: 'operators remove', load: async () => (await import('./commands/operators-remove.ts')).operatorsRemove },
  { name: 'apply', load: async () => (await import('./commands/apply.ts')).apply },
  { name: 'export', load: async () => (await import('./commands/export.ts')).exportCommand },
  { name: 'grants list', load: async () => (await import('./commands/grants-list.ts')).grantsList },
  { name: 'grants revoke', load: async () => (await import('./commands/grants-revoke.ts')).grantsRevoke },
  { name: 'keys list', load: async () => (await import('./commands/keys-list.ts')).keysList },
  { name: 'keys rotate', load: async () => (await import('./commands/keys-rotate.ts')).keysRotate },
  { name: 'keys rewrap', load: async () => (await import('./commands/keys-rewrap.ts')).keysRewrap },
  { name: 'keys retire', load: async () => (await import('./commands/keys-retire.ts')).keysRetire },
  { name: 'verify-receipt', load: async () => (await import('./commands/verify-receipt.ts')).verifyReceipt },
]
