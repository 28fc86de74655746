/** The data folder of `grantor start`: one secret, from which all others are derived, and a database. */
import { hkdfSync, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from '../../operators/terminal/command.ts'

export type DevelopmentStore = {
  databasePath: string
  /** 256 bits for one purpose, as 43 characters of `[A-Za-z0-9_-]`; the same at every start */
  secretFor(purpose: string): string
  /** a UUID for one purpose, the same at every start */
  idFor(purpose: string): string
}

const SECRET_FILE = 'development-secret'
const DATABASE_FILE = 'grantor.sqlite'
const ADDRESSES_FILE = 'addresses.json'

/** Opens the folder and creates missing files. Only the owner can access the folder (0700) and its files (0600). */
export function makeDevelopmentStore(folder: string): DevelopmentStore {
  const secretPath = join(folder, SECRET_FILE)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (existsSync(secretPath)) chmodSync(secretPath, 0o600)
    // A new secret could not open the keys in that database.
    else if (existsSync(join(folder, DATABASE_FILE)))
      throw new CommandError(`${folder} has a database whose secret is gone; remove ${folder} to start again`)
    else writeFileSync(secretPath, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
    return openDevelopmentStore(folder)
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${folder} cannot be written (${codeOf(error)}); choose another folder with --data DIR`)
  }
}

/** Opens the folder without changing it. */
export function openDevelopmentStore(folder: string): DevelopmentStore {
  const root = readRoot(folder)
  const bytes = (purpose: string, length: number) =>
    Buffer.from(hkdfSync('sha256', root, '', `grantor development ${purpose}`, length))
  return {
    databasePath: join(folder, DATABASE_FILE),
    secretFor: (purpose) => bytes(purpose, 32).toString('base64url'),
    idFor: (purpose) => asUuid(bytes(purpose, 16)),
  }
}

function readRoot(folder: string): string {
  const path = join(folder, SECRET_FILE)
  let root: string
  try {
    root = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (codeOf(error) === 'EACCES')
      throw new CommandError(`${path} cannot be read (EACCES); run the command as the user of grantor start`)
    throw new CommandError(`${folder} holds no development store (${codeOf(error)}); grantor start --data ${folder} makes one`)
  }
  if (root.length < 43)
    throw new CommandError(`${path} is not a development secret any more; remove the folder ${folder} to start again`)
  return root
}

/**
 * The settings from which a command finds out what no request of a client can get. A command with `--data` has them only from the service that
 * uses the folder.
 */
const ADDRESSES = ['AUTH_URL', 'LOGIN_URL', 'ADMIN_URL', 'DEFAULT_RESOURCE', 'SCOPE_DESCRIPTIONS', 'CHAIN_IDS'].map(
  (name) => `GRANTOR_${name}`,
)

/** Keeps the addresses of the service in its data folder, for the commands with `--data`. */
export function keepAddresses(folder: string, env: Readonly<Record<string, string | undefined>>): void {
  const kept = Object.fromEntries(ADDRESSES.map((name) => [name, env[name]]))
  writeFileSync(join(folder, ADDRESSES_FILE), `${JSON.stringify(kept)}\n`, { mode: 0o600 })
}

/** Empty if the folder has no such file, or if the file cannot be read: the next start writes it again. */
function readAddresses(folder: string): Record<string, string | undefined> {
  try {
    const kept = JSON.parse(readFileSync(join(folder, ADDRESSES_FILE), 'utf8')) as Record<string, unknown>
    const texts = ADDRESSES.map((name) => [name, typeof kept[name] === 'string' ? kept[name] : undefined] as const)
    return Object.fromEntries(texts)
  } catch {
    return {}
  }
}

/** The environment with the store, the secrets and the addresses of `grantor start`; everything else is unchanged. */
export function developmentEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
): Record<string, string | undefined> {
  return { ...withDevelopmentStore(env, openDevelopmentStore(folder)), ...readAddresses(folder) }
}

export function withDevelopmentStore(
  env: Readonly<Record<string, string | undefined>>,
  { databasePath, secretFor }: DevelopmentStore,
): Record<string, string | undefined> {
  return {
    ...env,
    GRANTOR_DATABASE_URL: `sqlite:${databasePath}`,
    GRANTOR_SECRET: secretFor('key-encryption secret'),
    GRANTOR_SECRET_FILE: undefined,
    GRANTOR_LOGIN_SECRET: secretFor('login secret'),
    GRANTOR_LOGIN_SECRET_FILE: undefined,
  }
}

/** 16 bytes as a UUID of version 8, which is for custom values (RFC 9562 §5.8). */
function asUuid(bytes: Buffer): string {
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error'
}

/** The settings that a program for development makes itself: addresses, store and secrets. */
export const MADE_SETTINGS: readonly string[] = [
  'AUTH_URL',
  'LOGIN_URL',
  'AUTH_BACKEND_URL',
  'LISTEN',
  'LOGIN_LISTEN',
  'ADMIN_URL',
  'ADMIN_LISTEN',
  'DATABASE_URL',
  'SECRET',
  'SECRET_FILE',
  'LOGIN_SECRET',
  'LOGIN_SECRET_FILE',
].map((name) => `GRANTOR_${name}`)
