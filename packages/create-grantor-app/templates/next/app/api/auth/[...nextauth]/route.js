import NextAuth from 'next-auth'
import { authOptions } from '../../../../auth.js'

const handler = (request, context) => NextAuth(request, context, authOptions())

export { handler as GET, handler as POST }
