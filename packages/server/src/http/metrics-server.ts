import type { Server } from 'node:http'
import type { Metrics } from '../observability/metrics/metrics.ts'
import { createPlainServer } from './malformed-http.ts'

/** `GET /metrics` and nothing else, on a listener that is not reachable under the service's address. */
export function createMetricsServer(metrics: Pick<Metrics, 'render' | 'contentType'>): Server {
  return createPlainServer((request, response) => {
    const [path] = (request.url ?? '').split('?')
    if (path !== '/metrics') response.writeHead(404).end()
    else if (request.method !== 'GET' && request.method !== 'HEAD') response.writeHead(405, { allow: 'GET, HEAD' }).end()
    else {
      metrics.render().then(
        (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
        () => response.writeHead(500).end(),
      )
    }
  })
}
