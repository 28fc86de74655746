/**
 * What `@grantor/testing` takes from the server: `grantor/private`. It is not for apps, and may change in every release.
 */

export type { Settings } from '../config/settings.ts'
export { isDevelopmentHost, isOfDevelopmentHost } from '../http/login/development-host.ts'
export type { DevelopmentWallet } from '../http/login/server.ts'
export type { Configuration } from '../operators/configuration/plan.ts'
export type { Service } from '../operators/operations/service.ts'
export {
  type Command,
  type CommandEnvironment,
  CommandError,
  defineCommand,
  EXIT,
  UsageError,
} from '../operators/terminal/command.ts'
export { readConfiguration } from '../operators/terminal/configuration/read-configuration.ts'
export { readFileText } from '../operators/terminal/configuration/read-file.ts'
export { printFacts as facts } from '../operators/terminal/print.ts'
export { type Address, parseAddress } from '../protocol/wallet/address.ts'
export { serviceOn } from './compose/command-service.ts'
export { composeAuthService, composeLoginServer } from './compose/compose.ts'
export { migrateDatabase } from './compose/database.ts'
export { MADE_SETTINGS } from './compose/development-store.ts'
export { settingsFor } from './compose/settings.ts'
export { developmentLog } from './development/development-log.ts'
export { addFileRecords, type FileClient } from './development/file-records.ts'
export { clientLines } from './development/own-app.ts'
export { personalSign, TEST_ACCOUNTS } from './development/test-accounts.ts'
export { requestToken, type TokenResponse } from './development/token-for.ts'
export { runCommand } from './main.ts'
export { closeServers, shutDownOnSignals } from './process/shutdown.ts'
export { allListening, listen } from './serve/listen.ts'
export { loggerFor } from './serve/running.ts'
