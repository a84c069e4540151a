import { type IncomingMessage } from 'node:http';
import { ControlFault } from './control-fault';

/** Enough for a record with the longest TXT value, escaped. */
const MAX_BODY_BYTES = 32_768;

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * Any web page may have a browser on this machine send requests here, with a name of its own that resolves to 127.0.0.1
 * (DNS rebinding). The Host header shows that.
 * @throws ControlFault
 */
export function refuseForeignHost(host: string | undefined): void {
  if (host !== undefined && LOOPBACK_HOST.test(host)) return;
  throw new ControlFault('unauthorized', 'The Host of the request must be a loopback address or localhost.');
}

/**
 * The JSON object in the body. The content type must be JSON, which a browser never sends to another site
 * without a preflight request.
 * @throws ControlFault
 */
export async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const contentType = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (contentType !== 'application/json') {
    throw new ControlFault('unsupported_media_type', 'Send the body as Content-Type: application/json.');
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // A body that is too long is not read, so that the response can be sent; then the connection is closed.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) {
        throw new ControlFault('request_too_large', `The body has more than ${MAX_BODY_BYTES} bytes.`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof ControlFault) throw error;
    throw new ControlFault('bad_request', 'The body is incomplete.');
  }
  return parseObject(Buffer.concat(chunks));
}

function parseObject(bytes: Buffer): Readonly<Record<string, unknown>> {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new ControlFault('bad_request', 'The body is not JSON in UTF-8.');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ControlFault('bad_request', 'The body must be a JSON object.');
  }
  return body as Readonly<Record<string, unknown>>;
}
