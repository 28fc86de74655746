/** The packages that have a part of this tree, besides `@grantor/walletconnect`, whose script is bundled. */
export type PackageParts = {
  description: string
  /** the project of `tsc` with the files: a folder with a `tsconfig.json`, or `.` for what `npm run build` compiles */
  project: string
  /** from the name of an entry point to its source, without the extension */
  entries: Readonly<Record<string, string>>
  /** packages of the dependencies of `grantor`, with the same version */
  dependencies: readonly string[]
  /** packages that an entry point needs, and that the app has anyway if it uses this entry point */
  peers?: Readonly<Record<string, string>>
  /** the page that is the README */
  guide: string
  /** further files and folders, from their place in the package to their place in the tree */
  copies?: Readonly<Record<string, string>>
  bin?: Readonly<Record<string, string>>
  /** the versions of Node */
  node: string
}

const resource = (name: string): string => `src/resource/${name}`
const connect = (name: string): string => `src/connect/${name}`

export const packages = {
  '@grantor/resource': {
    description: 'Checks the access tokens of a Grantor authorization server in an API or an MCP server',
    project: '.',
    entries: {
      '.': resource('index'),
      './express': resource('express'),
      './fastify': resource('fastify'),
      './hono': resource('hono'),
      './mcp': resource('mcp'),
      './next': resource('next'),
    },
    dependencies: ['jose'],
    guide: 'docs/guides/protect-an-api.md',
    node: '>=20',
  },
  '@grantor/connect': {
    description:
      'Signs users in with a Grantor authorization server: a popup, a button, and settings for Auth.js, Better Auth and Passport',
    project: 'src/connect',
    entries: {
      '.': connect('index'),
      './authjs': connect('authjs'),
      './better-auth': connect('better-auth'),
      './passport': connect('passport'),
      './react': connect('react'),
    },
    dependencies: [],
    peers: { react: '>=18' },
    guide: 'docs/guides/connect-package.md',
    node: '>=20',
  },
  'create-grantor-app': {
    description: 'npm create grantor-app: a new app whose users sign in with a wallet, with Grantor beside it',
    project: 'create-app',
    entries: { '.': 'create-app/index' },
    dependencies: [],
    guide: 'docs/guides/create-app.md',
    copies: { 'create-app/templates': 'create-app/templates', 'create-grantor-app.js': 'create-app/create-grantor-app.js' },
    bin: { 'create-grantor-app': 'create-grantor-app.js' },
    node: '>=24',
  },
} as const satisfies Record<string, PackageParts>

export type PackageName = keyof typeof packages
