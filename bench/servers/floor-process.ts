/** The floor: the least that a form post to a Fastify server can cost. Nothing is checked, nothing is looked up. */
import Fastify from 'fastify'

const server = Fastify({ logger: false })
server.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
  done(null, body),
)
server.post('/', (_request, reply) => void reply.header('content-type', 'application/json').send('{}'))
await server.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
process.send?.('ready')
