import { connect } from 'node:net';
import { type DnsQuery, matchQuery } from './query';
import { type Server } from './udp-sockets';

export type TcpExchanged =
  | { readonly response: Buffer }
  | { readonly failed: 'timeout' | 'unreachable' | 'aborted' | 'malformed' | 'too_large' };

/**
 * Queries on a separate connection (RFC 7766); used only after a truncated response, so it is not kept. Never
 * rejects.
 */
export async function exchangeOverTcp(
  server: Server,
  query: DnsQuery,
  limits: { readonly timeoutMs: number; readonly maxResponseBytes: number; readonly signal?: AbortSignal },
): Promise<TcpExchanged> {
  if (limits.signal?.aborted) return { failed: 'aborted' };
  const socket = connect(server.port, server.host);
  const timer = setTimeout(() => socket.destroy(new Error('timeout')), limits.timeoutMs);
  const abort = () => socket.destroy(new Error('aborted'));
  limits.signal?.addEventListener('abort', abort, { once: true });
  try {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(query.message.length);
    socket.write(Buffer.concat([length, query.message]));
    let received: Buffer = Buffer.alloc(0);
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2) continue;
      const end = 2 + received.readUInt16BE(0);
      if (end - 2 > limits.maxResponseBytes) return { failed: 'too_large' };
      if (received.length < end) continue;
      const response = received.subarray(2, end);
      return matchQuery(response, query) === 'yes' ? { response } : { failed: 'malformed' };
    }
    return { failed: 'malformed' };
  } catch (error) {
    const { message } = error as Error;
    return { failed: message === 'timeout' || message === 'aborted' ? message : 'unreachable' };
  } finally {
    clearTimeout(timer);
    limits.signal?.removeEventListener('abort', abort);
    socket.destroy();
  }
}
