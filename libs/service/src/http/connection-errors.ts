import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '@certwright/errors';
import type { Metrics } from '../operations/metrics';
import { answerSafely, type ProblemAnswering } from './problem-filter';
import { requestIdOf } from './request-id';
import { isUnadmitted, logUnadmitted } from './tls';

interface ParserError extends Error {
  readonly code?: string;
}

/** What Node's parser refuses before there is a request: broken HTTP, too long a header, too slow a client. */
export function clientErrorHandler(
  answering: ProblemAnswering,
  metrics: Metrics,
): (error: ParserError, socket: Socket) => void {
  return (error, socket) => {
    if (isUnadmitted(socket)) {
      logUnadmitted(error, socket, answering.log);
      socket.destroy();
      return;
    }
    const pending = pendingAnswer(socket);
    if (error.code === 'ECONNRESET' || !socket.writable || pending?.headersSent === true) {
      socket.destroy();
      return;
    }
    if (pending?.req.complete === true) {
      // The request before the broken one waits for its own answer, and would take this one for it.
      pending.once('finish', () => socket.destroySoon());
      return;
    }
    const requestId = requestIdOf({ headers: {} });
    const { status, headers, body } = answerSafely(
      problemOf(error),
      answering.renderProblem,
      answering.jsonContentType,
      answering.log,
    );
    answering.log.info(
      { method: null, route: null, status, request_id: requestId, parser: error.code },
      'request',
    );
    metrics.observeRequest({ method: 'unread', route: undefined, status, seconds: 0 });
    const all = {
      ...answering.headers,
      ...headers,
      'x-request-id': requestId,
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    };
    const lines = Object.entries(all).flatMap(([name, values]) =>
      [values].flat().map((value) => `${name}: ${value}`),
    );
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
    // The rest of what the client sends is read and dropped, so that the answer is not lost to a reset.
    socket.resume();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
}

/** How long a client that keeps sending after its answer is listened to. */
const lingerMs = 1_000;

/** The answer that Node is about to write, or writing, on this socket. Node keeps it there and tells nobody. */
function pendingAnswer(socket: Socket): ServerResponse | undefined {
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
      return new Problem('bad_request', 'This is not a request that HTTP/1.1 knows.');
  }
}

/** An `Expect` other than `100-continue` (RFC 9110 §10.1.1): Node's own answer to it has no body. */
export function answerUnknownExpectation(server: Server, answering: ProblemAnswering): void {
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const problem = new Problem('bad_request', 'Of the Expect header only 100-continue is known here.');
    const { status, headers, body } = answerSafely(
      problem,
      answering.renderProblem,
      answering.jsonContentType,
      answering.log,
    );
    const own = {
      'x-request-id': requestIdOf(request),
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    };
    response.writeHead(status, { ...answering.headers, ...headers, ...own });
    response.end(body);
  });
}
