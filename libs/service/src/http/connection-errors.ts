import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '@certwright/errors';
import type { Metrics } from '../operations/metrics';
import { renderSafely, type ProblemHandling } from './problem-filter';
import { requestIdOf } from './request-id';
import { isUnadmitted, logUnadmitted } from './tls';

interface ParserError extends Error {
  readonly code?: string;
}

/**
 * Handles what Node's parser refuses before there is a request: invalid HTTP, a header that is too long, a slow
 * client.
 */
export function clientErrorHandler(
  handling: ProblemHandling,
  metrics: Metrics,
): (error: ParserError, socket: Socket) => void {
  const handled = new WeakSet<Socket>();
  return (error, socket) => {
    // The parser refuses whatever the client sends after its first error, too.
    if (handled.has(socket)) return;
    if (isUnadmitted(socket)) {
      logUnadmitted(error, socket, handling.log);
      socket.destroy();
      return;
    }
    const pending = pendingResponse(socket);
    if (error.code === 'ECONNRESET' || !socket.writable || pending?.headersSent === true) {
      socket.destroy();
      return;
    }
    handled.add(socket);
    if (pending?.req.complete === true) {
      // An earlier request on this connection still waits for its response; this one must not take its place.
      pending.once('finish', () => socket.destroySoon());
      return;
    }
    const requestId = requestIdOf({ headers: {} });
    const { status, headers, body } = renderSafely(
      problemOf(error),
      handling.renderProblem,
      handling.jsonContentType,
      handling.log,
    );
    handling.log.info(
      { method: null, route: null, status, request_id: requestId, parser: error.code },
      'request',
    );
    metrics.observeRequest({ method: 'unread', route: undefined, status, seconds: 0 });
    const all = {
      ...handling.headers,
      ...headers,
      'x-request-id': requestId,
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    };
    const lines = Object.entries(all).flatMap(([name, values]) =>
      [values].flat().map((value) => `${name}: ${value}`),
    );
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
    // Read and drop the rest of the input, so that a reset does not destroy the response.
    socket.resume();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
}

/** How long to keep reading after the response. */
const lingerMs = 1_000;

/** The response that Node is writing, or about to write, on this socket. Not a public API of Node. */
function pendingResponse(socket: Socket): ServerResponse | undefined {
  return (socket as Socket & { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

function problemOf(error: ParserError): Problem {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('request_too_large', 'The header of the request is larger than 16 KiB.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Problem('request_too_large', 'The chunk extensions of the body are too long.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('bad_request', 'The request took too long to arrive.');
    default:
      return new Problem('bad_request', 'This is not a valid HTTP/1.1 request.');
  }
}

/** Handles an `Expect` other than `100-continue` (RFC 9110 §10.1.1): Node's own response has no body. */
export function rejectUnknownExpectation(server: Server, handling: ProblemHandling): void {
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const problem = new Problem('bad_request', 'The Expect header supports only 100-continue.');
    const { status, headers, body } = renderSafely(
      problem,
      handling.renderProblem,
      handling.jsonContentType,
      handling.log,
    );
    const own = {
      'x-request-id': requestIdOf(request),
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    };
    response.writeHead(status, { ...handling.headers, ...headers, ...own });
    response.end(body);
  });
}
