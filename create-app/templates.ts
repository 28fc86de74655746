/** The templates, in the order in which they are offered. */
export type Template = {
  words: string
  /** the variable of `.env` that gets a random secret; null if the app has no sessions of its own */
  secret: string | null
  /** true if the folder needs an environment of Python, too */
  python: boolean
}

export const templates = {
  next: { words: 'Next.js with NextAuth.js', secret: 'NEXTAUTH_SECRET', python: false },
  hono: { words: 'a page without a bundler, and an API on Hono', secret: null, python: false },
  express: { words: 'Express with Passport', secret: 'SESSION_SECRET', python: false },
  fastapi: { words: 'FastAPI with Authlib, in Python', secret: 'SESSION_SECRET', python: true },
} as const satisfies Record<string, Template>

export type TemplateName = keyof typeof templates

export const templateNames = Object.keys(templates) as TemplateName[]

export const isTemplateName = (name: string): name is TemplateName => Object.hasOwn(templates, name)
