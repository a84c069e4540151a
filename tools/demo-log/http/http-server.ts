import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type LogResponse, type FindRoutes, RequestFault } from './response';

const compress = promisify(gzip);

/** Enough for the longest allowed chain in base64. */
const maxBodyBytes = 4 * 2 ** 20;

/** Time limit for receiving a request, milliseconds. */
const requestTimeoutMs = 30_000;

export interface HttpServerOptions {
  /** Undefined while the process is not ready. */
  readonly routes: () => FindRoutes | undefined;
  /** Called for internal errors, whose details are not part of the response. */
  readonly onError: (error: unknown, path: string) => void;
}

/** A minimal HTTP server: exact methods, limited bodies, errors in the format of RFC 6962 logs. */
export class HttpServer {
  private readonly server = createServer(
    { requestTimeout: requestTimeoutMs },
    (request, response) => void this.serve(request, response),
  );

  constructor(private readonly options: HttpServerOptions) {}

  /** @returns the port @throws the system's error */
  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject).listen(port, host, resolve);
    });
    return (this.server.address() as AddressInfo).port;
  }

  /** Finishes running requests. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeIdleConnections();
    await closed;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
    // The client has disconnected.
    response.on('error', () => undefined);
    try {
      const result = await this.resultOf(request, path, query);
      await send(response, result, request);
    } catch (error) {
      const fault = error instanceof RequestFault ? error : internalFault;
      if (fault === internalFault) this.options.onError(error, path);
      // Closing the connection discards the unread part of the body.
      const headers = request.complete ? fault.headers : { ...fault.headers, connection: 'close' };
      const body = `${JSON.stringify({ error_message: fault.message })}\n`;
      response.writeHead(fault.status, { 'content-type': 'application/json', ...headers }).end(body);
    }
  }

  private async resultOf(request: IncomingMessage, path: string, query: string): Promise<LogResponse> {
    const find = this.options.routes();
    if (find === undefined)
      throw new RequestFault(503, 'The log is starting; try again.', { 'retry-after': '1' });
    const routes = find(path);
    if (routes === undefined) throw new RequestFault(404, 'Unknown path.');
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const route = method === 'GET' || method === 'POST' ? routes[method] : undefined;
    if (route === undefined) {
      const allow = routes.GET === undefined ? 'POST' : 'GET, HEAD';
      throw new RequestFault(405, `This path supports ${allow}.`, { allow });
    }
    return await route({ query: new URLSearchParams(query), body: async () => await readBody(request) });
  }
}

/** Without details, which may be confidential and are in the process log. 503, because the disk may be full. */
const internalFault = new RequestFault(503, 'Internal error; try again later.', { 'retry-after': '5' });

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > maxBodyBytes) throw new RequestFault(413, `The body has more than ${maxBodyBytes} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function send(response: ServerResponse, result: LogResponse, request: IncomingMessage): Promise<void> {
  const { type, headers = {}, compressible = false } = result;
  const acceptsGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(
    request.headers['accept-encoding'] ?? '',
  );
  const isCompressed = compressible && acceptsGzip;
  const body = isCompressed ? await compress(result.body) : result.body;
  response
    .writeHead(200, {
      'content-type': type,
      'content-length': body.length,
      ...(compressible ? { vary: 'accept-encoding' } : {}),
      ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
      ...headers,
    })
    .end(request.method === 'HEAD' ? undefined : body);
}
