import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { ControlFault, STATUSES } from './control-fault';
import { readBody, refuseForeignHost } from './control-request';
import { handleControl, type ControlResponse } from './control-routes';
import { type DemoZones } from './demo-zones';
import { type JsonLog } from './json-log';

const CONNECTIONS = 50;
/** For a whole request, headers and body, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000;

const NO_HTTP_BODY =
  JSON.stringify({ code: 'bad_request', message: 'The request is not valid HTTP.' }) + '\n';
/** Node has no response object for requests that it cannot parse. */
const NO_HTTP = [
  'HTTP/1.1 400 Bad Request',
  'Content-Type: application/json',
  `Content-Length: ${NO_HTTP_BODY.length}`,
  'Connection: close',
  '',
  NO_HTTP_BODY,
].join('\r\n');

/** HTTP API on loopback that changes the zones. Every response is JSON. */
export class ControlServer {
  readonly #server: Server;

  constructor(
    private readonly zones: DemoZones,
    private readonly log: JsonLog,
  ) {
    this.#server = createServer(
      {
        requestTimeout: REQUEST_TIMEOUT_MS,
        headersTimeout: REQUEST_TIMEOUT_MS,
        connectionsCheckingInterval: 1_000,
      },
      (request, response) => void this.#serve(request, response),
    );
    this.#server.maxConnections = CONNECTIONS;
    this.#server.on('clientError', (_error, socket) => socket.end(NO_HTTP));
  }

  async listen(host: string, port: number): Promise<number> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** Finishes running requests; closes idle connections at once. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeIdleConnections();
    const cut = setTimeout(() => this.#server.closeAllConnections(), 2_000);
    await closed;
    clearTimeout(cut);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let result: ControlResponse;
    try {
      refuseForeignHost(request.headers.host);
      const body =
        request.method === 'POST' || request.method === 'DELETE' ? await readBody(request) : undefined;
      result = await handleControl(request.method ?? 'GET', request.url ?? '/', body, this.zones);
    } catch (error) {
      result = this.#failure(error);
    }
    this.log.debug('control', { method: request.method, path: request.url, status: result.status });
    // The unread rest of a body must not be parsed as the next request.
    if (!request.complete) response.setHeader('Connection', 'close');
    for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, value);
    response.writeHead(result.status, {
      'Content-Type': 'application/json',
      'X-Content-Type-Options': 'nosniff',
    });
    response.end(JSON.stringify(result.body) + '\n');
  }

  #failure(error: unknown): ControlResponse {
    if (error instanceof ControlFault) {
      const { code, message, field, allow } = error;
      return {
        status: STATUSES[code],
        body: { code, message, ...(field && { field }) },
        ...(allow && { headers: { Allow: allow.join(', ') } }),
      };
    }
    this.log.error('control failed', { error: String(error) });
    return { status: 500, body: { code: 'internal_error', message: 'The request failed.' } };
  }
}
