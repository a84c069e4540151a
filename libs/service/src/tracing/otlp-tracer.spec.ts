import {
  annotateSpan,
  beginSpan,
  currentTraceparent,
  inSpan,
  isTracing,
  openSpan,
} from '@certwright/tracing';
import { eventually, otlpCollector, type OtlpCollector } from '@certwright/testing';
import { createLogger } from '../logging/logger';
import { Metrics } from '../operations/metrics';
import { sampleKeys, startSampleApi, type SampleApi } from '../testing/sample-api';
import { startTraces, type Traces } from './otlp-tracer';
import type { TraceConfig } from './trace-settings';

let collector: OtlpCollector;
let traces: Traces | null;
let metrics: Metrics;
let logged: string[];

async function start(config: Partial<TraceConfig> = {}): Promise<void> {
  traces = await startTraces('sample', { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, ...config });
  metrics = new Metrics('sample');
  logged = [];
  const log = createLogger('sample', 'info', { write: (line) => void logged.push(line) });
  traces?.observe({ log, metrics });
}

/** Sends what is recorded. */
async function sent() {
  await traces?.close();
  return collector.spans();
}

const valueOf = async (metric: string): Promise<string[]> =>
  (await metrics.render()).split('\n').filter((line) => line.startsWith(metric));

beforeEach(async () => {
  collector = await otlpCollector();
});
afterEach(async () => {
  await traces?.close();
  await collector.close();
});

describe('without an endpoint', () => {
  it('a process records no spans', async () => {
    await start({ OTEL_EXPORTER_OTLP_ENDPOINT: null });
    expect(traces).toBeNull();
    expect(isTracing()).toBe(false);
    const seen = await inSpan('work', {}, async () => await Promise.resolve(currentTraceparent()));
    expect([seen, openSpan('other', {})]).toEqual([null, null]);
  });
});

describe('a span', () => {
  it('is sent with its parent, attributes and sums, and with the attributes of the process', async () => {
    await start({
      OTEL_EXPORTER_OTLP_HEADERS: { authorization: 'Bearer of-the-collector' },
      OTEL_SERVICE_NAME: 'other name',
      OTEL_RESOURCE_ATTRIBUTES: { 'deployment.environment.name': 'spec' },
    });
    await inSpan('outer', { attributes: { 'certwright.issuance_id': '7', absent: undefined } }, async () => {
      beginSpan('inner', { kind: 'client' }, (span) => {
        span?.add({ 'db.client.ms': 1.5 });
        span?.add({ 'db.client.ms': 2 });
        annotateSpan({ 'certwright.outcome': 'attached' });
        span?.end();
      });
      await Promise.resolve();
    });
    const [inner, outer] = await sent();
    expect(outer).toMatchObject({
      service: 'other name',
      kind: 'internal',
      parentSpanId: null,
      attributes: { 'certwright.issuance_id': '7' },
    });
    expect(inner).toMatchObject({
      kind: 'client',
      traceId: outer?.traceId,
      parentSpanId: outer?.spanId,
      attributes: { 'db.client.ms': 3.5, 'certwright.outcome': 'attached' },
    });
    expect(collector.headers).toMatchObject([{ authorization: 'Bearer of-the-collector' }]);
    expect(collector.bytes()).toContain('deployment.environment.name');
    expect(await valueOf('certwright_trace_spans_exported_total')).toEqual([
      'certwright_trace_spans_exported_total{process="sample"} 2',
    ]);
  });

  it('of work that fails has the code of the error, and not its message', async () => {
    await start();
    const error = Object.assign(new Error('password hunter22'), { code: 'ECONNREFUSED' });
    await expect(inSpan('work', {}, async () => await Promise.reject(error))).rejects.toBe(error);
    expect(await sent()).toMatchObject([
      { name: 'work', isFailed: true, attributes: { 'error.type': 'ECONNREFUSED' } },
    ]);
    expect(collector.bytes()).not.toContain('hunter22');
  });

  it('masks what looks like a secret', async () => {
    await start();
    await inSpan('work', { attributes: { 'certwright.request_id': sampleKeys.owner } }, async () => {
      annotateSpan({ url: 'https://user:hunter22@hooks.example.com' });
      await Promise.resolve();
    });
    expect(await sent()).toHaveLength(1);
    for (const secret of ['hunter22', sampleKeys.owner]) expect(collector.bytes()).not.toContain(secret);
  });

  it('belongs to the trace of its cause, or begins a trace that refers to it', async () => {
    await start();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    for (const as of ['parent', 'link'] as const) openSpan(as, { cause: { traceparent, as } })?.end();
    openSpan('unreadable', { cause: { traceparent: 'x', as: 'parent' } })?.end();
    const [child, linked, unreadable] = await sent();
    const cause = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
    expect(child).toMatchObject({ traceId: cause.traceId, parentSpanId: cause.spanId, links: [] });
    expect(linked).toMatchObject({ parentSpanId: null, links: [cause] });
    expect(linked?.traceId).not.toBe(cause.traceId);
    expect(unreadable).toMatchObject({ parentSpanId: null, links: [] });
  });
});

describe('sampling', () => {
  const recorded = async (sampler: TraceConfig['OTEL_TRACES_SAMPLER'], ratio = 1) => {
    await start({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio });
    const parent = (flags: string) => `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-${flags}`;
    openSpan('root', { cause: null })?.end();
    openSpan('of recorded', { cause: { traceparent: parent('01'), as: 'parent' } })?.end();
    openSpan('of unrecorded', { cause: { traceparent: parent('00'), as: 'parent' } })?.end();
    return (await sent()).map(({ name }) => name);
  };

  it.each([
    ['always_on', 1, ['root', 'of recorded', 'of unrecorded']],
    ['always_off', 1, []],
    ['traceidratio', 0, []],
    ['parentbased_always_on', 1, ['root', 'of recorded']],
    ['parentbased_always_off', 1, ['of recorded']],
    ['parentbased_traceidratio', 0, ['of recorded']],
    ['parentbased_traceidratio', 1, ['root', 'of recorded']],
  ] as const)('by %s with argument %s records %j', async (sampler, ratio, names) => {
    expect(await recorded(sampler, ratio)).toEqual(names);
  });

  it('of a trace that is not recorded is part of the traceparent', async () => {
    await start({ OTEL_TRACES_SAMPLER: 'always_off' });
    const seen = await inSpan('work', {}, async () => await Promise.resolve(currentTraceparent()));
    expect(seen).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  });
});

describe('a collector', () => {
  it('that refuses spans loses them; they are counted, and reported once', async () => {
    await start();
    collector.respond(400);
    openSpan('lost', {})?.end();
    await sent();
    expect(await valueOf('certwright_trace_spans_dropped_total')).toEqual([
      'certwright_trace_spans_dropped_total{reason="queue_full",process="sample"} 0',
      'certwright_trace_spans_dropped_total{reason="export_failed",process="sample"} 1',
    ]);
    expect(logged.join()).toMatch(/"error":"400","msg":"spans not accepted by the collector; dropped"/);
  });

  it('that does not respond fills a bounded queue, and does not delay the end of the process beyond a bound', async () => {
    await start();
    collector.respond('silent');
    for (let count = 0; count < 5_000; count += 1) openSpan('waiting', {})?.end();
    await eventually(() => expect(collector.headers.length).toBeGreaterThan(0));
    await traces?.close();
    const [full] = await valueOf('certwright_trace_spans_dropped_total{reason="queue_full"');
    const dropped = Number(full?.split(' ').at(-1));
    // The queue, and the batches that are under way.
    expect(dropped).toBeGreaterThanOrEqual(5_000 - 2 * 2_048);
    expect(logged.join()).toMatch(/"spans":\d+,"msg":"spans not sent before the process stopped"/);
  });
});

describe('a request', () => {
  let api: SampleApi;
  afterEach(async () => await api.app.close());

  const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const order = async (headers: Record<string, string> = {}) =>
    await fetch(`${api.origin}/orders/example.com?key=${sampleKeys.searcher}`, {
      headers: { authorization: `Bearer ${sampleKeys.owner}`, ...headers },
    });

  it('has a span with route, method, status and request id, which its log line names', async () => {
    await start();
    api = await startSampleApi();
    const response = await order();
    await fetch(`${api.origin}/healthz`);
    await eventually(() => expect(api.lines.join()).toContain('"request"'));
    const [span, ...others] = await sent();
    expect(others).toEqual([]);
    expect(span).toMatchObject({
      name: 'GET /orders/:name',
      kind: 'server',
      parentSpanId: null,
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/orders/:name',
        'http.response.status_code': response.status,
        'certwright.request_id': response.headers.get('x-request-id'),
        'certwright.account_id': '42',
      },
    });
    const line = api.lines.map((text) => JSON.parse(text) as object).find((each) => 'route' in each);
    expect(line).toMatchObject({ trace_id: span?.traceId, span_id: span?.spanId });
    for (const secret of [sampleKeys.owner, sampleKeys.searcher, 'example.com'])
      expect(collector.bytes()).not.toContain(secret);
  });

  it('of a public caller begins a trace, which refers to the traceparent of the caller', async () => {
    await start({ OTEL_TRACES_SAMPLER: 'parentbased_always_on' });
    api = await startSampleApi();
    await order({ traceparent: caller });
    await eventually(() => expect(api.lines).toHaveLength(1));
    const [span] = await sent();
    expect(span).toMatchObject({ parentSpanId: null, links: [{ spanId: 'b7ad6b7169203331' }] });
    expect(span?.traceId).not.toBe('0af7651916cd43dd8448eb211c80319c');
  });

  it('of a public caller is not recorded because the caller records it', async () => {
    await start({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' });
    api = await startSampleApi();
    await order({ traceparent: caller });
    await eventually(() => expect(api.lines).toHaveLength(1));
    expect(await sent()).toEqual([]);
  });

  it('of a trusted caller belongs to the trace of the caller', async () => {
    await start({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' });
    api = await startSampleApi({ traceparents: 'parent' });
    await order({ traceparent: caller });
    await eventually(() => expect(api.lines).toHaveLength(1));
    expect(await sent()).toMatchObject([
      { traceId: '0af7651916cd43dd8448eb211c80319c', parentSpanId: 'b7ad6b7169203331', links: [] },
    ]);
  });
});
