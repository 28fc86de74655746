/** The settings of traces, under the names that the OpenTelemetry specification gives them. */
import * as read from './parsers.ts'
import { originOf, type Setting, servers } from './setting.ts'

export const traces = {
  otlpEndpoint: {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    isStandard: true,
    words:
      'Address of an OpenTelemetry collector, http or https. Traces are sent as JSON over HTTP (OTLP) to `/v1/traces` below this address, usually on port 4318.',
    usedBy: servers,
    parse: read.collectorUrl,
    shown: originOf,
    otherwise: 'none: there are no traces, and no code for traces is loaded',
  },
  otlpTracesEndpoint: {
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    isStandard: true,
    words: 'The same as a complete address, if it does not end with `/v1/traces`.',
    usedBy: servers,
    parse: read.collectorUrl,
    shown: originOf,
    otherwise: 'OTEL_EXPORTER_OTLP_ENDPOINT with `/v1/traces`',
  },
  otlpHeaders: {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    isStandard: true,
    words:
      'Headers for the collector, as in `authorization=Basic%20abc,x-team=login`. Values are percent-encoded. Needs https, or a collector on this machine.',
    usedBy: servers,
    parse: read.headerList,
    secret: true,
  },
  traceRatio: {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    isStandard: true,
    words:
      'Share of the requests that are traced, from 0 to 1. If a request has a valid `traceparent`, its decision counts. The sampler is always `parentbased_traceidratio`.',
    usedBy: servers,
    parse: read.ratio,
    preset: '1',
  },
  serviceName: {
    name: 'OTEL_SERVICE_NAME',
    isStandard: true,
    words: 'The name of this server in traces.',
    usedBy: servers,
    parse: read.serviceName,
    otherwise: '`grantor` for the auth service, `grantor-login` for the login server',
  },
} satisfies Record<string, Setting>
