/**
 * What the servers need of `node:http`. An import of `node:http` reads all exports of the module, and reading `WebSocket` loads undici, which
 * holds 8 MiB (docs/evidence/performance.md). So the module is not imported.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')
