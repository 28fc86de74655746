import { describe, expect, test } from 'vitest'
import { readSettings, secretsOf } from '../../src/config/settings.ts'

const COMPLETE = {
  GRANTOR_AUTH_URL: 'https://auth.example.com',
  GRANTOR_LOGIN_URL: 'https://login.example.com',
  GRANTOR_DATABASE_URL: 'sqlite:/tmp/grantor.sqlite',
  GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
  GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
}
const read = (more: Record<string, string>) => readSettings('serve', { ...COMPLETE, ...more })

describe('The settings of traces', () => {
  test('The standard names of OpenTelemetry are settings, and other names that begin with OTEL_ are ignored', () => {
    const reading = read({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.internal:4318',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      OTEL_SERVICE_NAME: 'login.eu-1',
      OTEL_PROPAGATORS: 'b3',
    })
    if (reading.kind === 'faults') throw new Error(reading.faults.join())
    const { otlpEndpoint, traceRatio, serviceName } = reading.settings
    expect([otlpEndpoint, traceRatio, serviceName]).toEqual(['http://collector.internal:4318', 0.25, 'login.eu-1'])
  })

  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:secret-in-url@collector:4318'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://collector:4318/v1/traces?key=secret-in-url'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=b%0Ax: y'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%FF'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%0D%0Ab: c'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_TRACES_SAMPLER_ARG', 'NaN'],
    ['OTEL_SERVICE_NAME', 'two words'],
  ])('An invalid value is a fault that names the setting and no secret: %s=%s', (name, value) => {
    const reading = read({ [name]: value })
    expect(reading).toEqual({ kind: 'faults', faults: [expect.stringMatching(new RegExp(`^${name} must be`))] })
    expect(JSON.stringify(reading)).not.toContain('secret-in-url')
  })

  test('The headers for the collector are a secret, which is not sent in plain to another machine', () => {
    const headers = 'authorization=Basic%20YWJjZGVm'
    const withHeaders = (url: string) => read({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_HEADERS: headers })
    expect(withHeaders('http://collector.internal:4318')).toMatchObject({
      faults: [expect.stringMatching(/^OTEL_EXPORTER_OTLP_HEADERS would be sent in plain/)],
    })
    for (const url of ['https://collector.example.com', 'http://127.0.0.1:4318']) {
      const reading = withHeaders(url)
      if (reading.kind === 'faults') throw new Error(reading.faults.join())
      expect(secretsOf(reading.settings)).toContain(headers)
    }
  })
})
