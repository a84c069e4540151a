import { type IncomingMessage } from 'node:http';
import { ControlFault } from './control-fault';

/** Octets; a record of the longest TXT value, escaped, fits. */
const BODY_LIMIT = 32_768;

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * A web page of anybody may make a browser on this machine send requests here, under a name of its own that resolves
 * to 127.0.0.1 (DNS rebinding). Its Host header gives it away.
 * @throws ControlFault
 */
export function refuseForeignHost(host: string | undefined): void {
  if (host !== undefined && LOOPBACK_HOST.test(host)) return;
  throw new ControlFault('unauthorized', 'The control answers only under a loopback address or localhost.');
}

/**
 * The JSON object in the body. The content type must be JSON: that is what a browser never sends to another site
 * without asking that site first.
 * @throws ControlFault
 */
export async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const contentType = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (contentType !== 'application/json') {
    throw new ControlFault('unsupported_media_type', 'Send the body as Content-Type: application/json.');
  }
  const chunks: Buffer[] = [];
  let octets = 0;
  try {
    // Left unread when it is too long, so that the answer still gets through; the connection closes after it.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      octets += chunk.length;
      if (octets > BODY_LIMIT) {
        throw new ControlFault('request_too_large', `A body has at most ${BODY_LIMIT} octets.`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof ControlFault) throw error;
    throw new ControlFault('bad_request', 'The body was cut off.');
  }
  return parseObject(Buffer.concat(chunks));
}

function parseObject(octets: Buffer): Readonly<Record<string, unknown>> {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(octets));
  } catch {
    throw new ControlFault('bad_request', 'The body is no JSON in UTF-8.');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ControlFault('bad_request', 'The body must be a JSON object.');
  }
  return body as Readonly<Record<string, unknown>>;
}
