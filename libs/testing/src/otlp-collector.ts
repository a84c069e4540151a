import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as the collector got it. */
export interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  readonly traceId: string;
  readonly spanId: string;
  /** Null: it begins a trace. */
  readonly parentSpanId: string | null;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isFailed: boolean;
}

export interface OtlpCollector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  /** Spans of all accepted requests. */
  spans(): readonly CollectedSpan[];
  /** Bodies of all requests, one after the other. */
  bytes(): string;
  readonly headers: readonly IncomingHttpHeaders[];
  /** From now on: 200 accepts spans, another status refuses them, `silent` never responds. */
  respond(status: number | 'silent'): void;
  close(): Promise<void>;
}

/** Receives spans by OTLP/HTTP with JSON (opentelemetry-proto, trace/v1) on loopback. */
export async function otlpCollector(): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let answer: number | 'silent' = 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('latin1');
      bodies.push(body);
      headers.push(request.headers);
      if (answer === 'silent') return;
      const isAccepted = answer === 200 && request.method === 'POST' && request.url === '/v1/traces';
      if (isAccepted) spans.push(...spansIn(JSON.parse(body) as ExportRequest));
      response.writeHead(isAccepted || answer !== 200 ? answer : 404, { 'content-type': 'application/json' });
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => spans,
    bytes: () => bodies.join('\n'),
    headers,
    respond: (status) => void (answer = status),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 0: unspecified. */
  readonly kind: number;
  readonly attributes: readonly Attribute[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 2: error. */
  readonly status: { readonly code?: number };
}

const kinds = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const;

function spansIn({ resourceSpans }: ExportRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource.attributes)['service.name']);
    return scopeSpans.flatMap((scope) => scope.spans.map((span) => collected(service, span)));
  });
}

function collected(service: string, span: SentSpan): CollectedSpan {
  const { name, traceId, spanId, parentSpanId, links = [] } = span;
  return {
    ...{ service, name, traceId, spanId },
    kind: kinds[span.kind] ?? 'internal',
    parentSpanId: parentSpanId || null,
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    attributes: valuesOf(span.attributes),
    isFailed: span.status.code === 2,
  };
}

const valuesOf = (attributes: readonly Attribute[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
