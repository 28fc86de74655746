import { grantorStrategy } from '@grantor/connect/passport'
import express from 'express'
import session from 'express-session'
import passport from 'passport'
import { Strategy } from 'passport-oauth2'
import { homePage } from './pages.js'

export function createApp({ issuer, clientId, clientSecret, appUrl, sessionSecret }) {
  const callbackUrl = `${appUrl}/callback`
  const strategy = grantorStrategy(Strategy, { issuer, clientId, clientSecret, callbackUrl }, ({ wallet }) => ({ wallet }))
  const users = new passport.Passport()
  users.use('grantor', strategy)
  users.serializeUser((user, done) => done(null, user))
  users.deserializeUser((user, done) => done(null, user))

  const app = express()
  const isSecure = appUrl.startsWith('https:')
  if (isSecure) app.set('trust proxy', 1)
  app.use(express.static('public'))
  // The sessions are in memory: use a store of your own in production.
  const cookie = { httpOnly: true, sameSite: 'lax', secure: isSecure }
  app.use(session({ secret: sessionSecret, cookie, resave: false, saveUninitialized: false }))
  app.use(users.session())

  app.get('/', (request, response) => {
    response.send(homePage({ wallet: request.user?.wallet ?? null, hasFailed: request.query.failed !== undefined }))
  })
  app.get('/login', users.authenticate('grantor'))
  app.get('/callback', users.authenticate('grantor', { successRedirect: '/', failureRedirect: '/?failed' }))
  app.post('/logout', (request, response, next) => {
    request.logout((error) => (error ? next(error) : response.redirect('/')))
  })
  app.get('/me', (request, response) => {
    response.json({ wallet: request.user?.wallet ?? null })
  })
  return app
}

if (import.meta.main) {
  const { ISSUER, CLIENT_ID, CLIENT_SECRET, SESSION_SECRET, APP_URL = 'http://localhost:3000' } = process.env
  const missing = Object.entries({ ISSUER, CLIENT_ID, CLIENT_SECRET, SESSION_SECRET }).filter(([, value]) => !value)
  if (missing.length > 0)
    throw new Error(`${missing.map(([name]) => name).join(', ')} must be set: start the app with npm run dev`)
  const app = createApp({
    issuer: ISSUER,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    appUrl: APP_URL,
    sessionSecret: SESSION_SECRET,
  })
  const port = Number(process.env.PORT ?? 3000)
  app.listen(port, '127.0.0.1', () => console.log(`\n  ${APP_URL}\n`))
}
