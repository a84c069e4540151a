import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import { annotateSpan, currentTraceparent, inSpan } from '@certwright/tracing';
import { GatewayFault } from './gateway-fault';

export interface Question {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** JSON. */
  readonly body: string | null;
  /** False: it goes out once, on a connection of its own, since an idle one may be closing just now. */
  readonly repeatable: boolean;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** What both attempts share: who we are, whom we trust, and the connections that are kept. */
export interface Line {
  readonly tls: Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'minVersion'>;
  readonly agent: Agent;
  readonly maxAnswerBytes: number;
}

/** The connection ended before the answer was whole: of a kept one, usually because the other side had just closed it. */
const cutCodes: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/**
 * One message and its answer. Repeated once when the connection was cut, where the message allows it.
 *
 * @param signal bounds both attempts together
 * @throws GatewayFault `unreachable`
 */
export async function exchange(line: Line, question: Question, signal: AbortSignal): Promise<RawAnswer> {
  const { method, url } = question;
  const attributes = { 'http.request.method': method, 'server.address': url.hostname };
  return await inSpan(`gateway ${url.pathname}`, { kind: 'client', attributes }, async () => {
    const answer = await attemptTwice(line, question, signal);
    annotateSpan({ 'http.response.status_code': answer.status });
    return answer;
  });
}

async function attemptTwice(line: Line, question: Question, signal: AbortSignal): Promise<RawAnswer> {
  try {
    return await attempt(line, question, signal);
  } catch (error) {
    if (!question.repeatable || signal.aborted || !cutCodes.has(codeOf(error))) throw faultOf(error, signal);
  }
  try {
    return await attempt(line, question, signal);
  } catch (error) {
    throw faultOf(error, signal);
  }
}

async function attempt(
  { tls, agent, maxAnswerBytes }: Line,
  { method, url, body, repeatable }: Question,
  signal: AbortSignal,
): Promise<RawAnswer> {
  return await new Promise<RawAnswer>((resolve, reject) => {
    const traceparent = currentTraceparent();
    const headers = {
      accept: 'application/json',
      // The gateway has no database whose clock it could compare with its own (RFC 9110, section 6.6.1).
      date: new Date().toUTCString(),
      ...(traceparent === null ? {} : { traceparent }),
      ...(body === null
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    const options = { ...tls, method, headers, signal, agent: repeatable ? agent : false } as const;
    const request = httpsRequest(url, options, (response) => {
      collect(response, maxAnswerBytes).then(resolve, (error: unknown) => {
        request.destroy();
        reject(error);
      });
    });
    request.on('error', reject);
    request.end(body ?? undefined);
  });
}

async function collect(response: IncomingMessage, maxBytes: number): Promise<RawAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new GatewayFault('unreachable', 'The answer of the DNS gateway is too long.');
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
}

function faultOf(error: unknown, signal: AbortSignal): GatewayFault {
  if (error instanceof GatewayFault) return error;
  if (signal.aborted) return new GatewayFault('unreachable', 'The DNS gateway did not answer in time.');
  // A code of Node's own names, such as ECONNREFUSED or ERR_TLS_CERT_ALTNAME_INVALID; its message could hold anything.
  return new GatewayFault(
    'unreachable',
    `The DNS gateway cannot be reached (${codeOf(error) || 'unknown'}).`,
  );
}

const codeOf = (error: unknown): string =>
  String((error as NodeJS.ErrnoException | null | undefined)?.code ?? '');
