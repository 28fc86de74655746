import { TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, onTestFinished, test } from 'vitest'
import { createBoundedExport, QUEUE_AT_MOST } from '../../../src/observability/traces/bounded-export.ts'
import { startCollector } from '../../support/collector.ts'

async function startExport() {
  const collector = await startCollector()
  onTestFinished(() => collector.close())
  const counts = { exported: 0, failed: 0, dropped: 0 }
  const changes: string[] = []
  const processor = createBoundedExport({
    url: collector.url,
    headers: {},
    count: (result, spans) => void (counts[result] += spans),
    noteChange: (state) => void changes.push(state),
    delay: 10,
  })
  const tracer = new TracerProvider({ spanProcessors: [processor] }).getTracer('test')
  const end = (spans: number) => {
    for (let ended = 0; ended < spans; ended++) tracer.startSpan('span').end()
  }
  return { collector, counts, changes, processor, end }
}

test('While a collector does not answer, at most 4,096 spans wait, and each further span is dropped and counted', async () => {
  const { collector, counts, processor, end } = await startExport()
  collector.answer = () => undefined
  end(1)
  await expect.poll(() => collector.bodies.length).toBe(1)
  end(QUEUE_AT_MOST + 1000)
  expect(counts).toEqual({ exported: 0, failed: 0, dropped: 1000 })
  await collector.close()
  await processor.shutdown().catch(() => undefined)
  await expect.poll(() => counts.failed).toBe(QUEUE_AT_MOST + 1)
})

test('Spans that a collector refuses are counted as failed, and one failure and one recovery are reported', async () => {
  const { collector, counts, changes, end } = await startExport()
  collector.answer = (response) => void response.writeHead(400).end()
  for (const failed of [10, 20]) {
    end(10)
    await expect.poll(() => counts.failed).toBe(failed)
  }
  collector.answer = (response) => void response.writeHead(200).end('{}')
  end(10)
  await expect.poll(() => counts.exported).toBe(10)
  expect(changes).toEqual(['failing', 'works again'])
})
