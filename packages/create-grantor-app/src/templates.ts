/** The templates, in the order in which they are offered. */
export type Template = {
  words: string
  /** the variable of `.env` that gets a random secret; null if the app has no sessions of its own */
  secret: string | null
  /** true if the folder needs an environment of Python, too */
  python: boolean
  /** the path of the style sheet, which all templates share */
  styles: string
}

export const templates = {
  next: { words: 'Next.js with NextAuth.js', secret: 'NEXTAUTH_SECRET', python: false, styles: 'app/style.css' },
  hono: { words: 'a page without a bundler, and an API on Hono', secret: null, python: false, styles: 'public/style.css' },
  express: { words: 'Express with Passport', secret: 'SESSION_SECRET', python: false, styles: 'public/style.css' },
  fastapi: { words: 'FastAPI with Authlib, in Python', secret: 'SESSION_SECRET', python: true, styles: 'static/style.css' },
} as const satisfies Record<string, Template>

export type TemplateName = keyof typeof templates

export const templateNames = Object.keys(templates) as TemplateName[]

export const isTemplateName = (name: string): name is TemplateName => Object.hasOwn(templates, name)
