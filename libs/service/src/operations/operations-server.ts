import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from './metrics';
import type { Readiness } from './readiness';

export interface OperationsServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly metrics: Metrics;
  readonly readiness: Readiness;
}

export interface OperationsServer {
  /** `http://host:port` */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * `/healthz`, `/readyz` and `/metrics` for operators, on an address of their own, since metrics are not public. It
 * has no routes of the application and no body parser, so it responds even when those fail.
 *
 * @throws what `listen` throws, for example `EADDRINUSE`
 */
export async function startOperationsServer(options: OperationsServerOptions): Promise<OperationsServer> {
  const server = createServer(
    { requestTimeout: 10_000, headersTimeout: 5_000, maxHeaderSize: 8_192 },
    (request, response) => {
      respond(request, response, options).catch(() => response.destroy());
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const { address, family, port } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    close: () => close(server),
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  options: OperationsServerOptions,
): Promise<void> {
  const [path] = (request.url ?? '').split('?');
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    return send(response, 405, 'application/json', '{"message":"Only GET and HEAD are supported."}');
  }
  if (path === '/healthz') return send(response, 200, 'application/json', '{"alive":true}');
  if (path === '/readyz') {
    const report = await options.readiness.report();
    return send(response, report.ready ? 200 : 503, 'application/json', JSON.stringify(report));
  }
  if (path === '/metrics')
    return send(response, 200, options.metrics.contentType, await options.metrics.render());
  return send(response, 404, 'application/json', '{"message":"There is nothing here."}');
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
  });
  response.end(body);
}

async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    // Responses are immediate, so nothing of value is cut off.
    server.closeAllConnections();
  });
}
