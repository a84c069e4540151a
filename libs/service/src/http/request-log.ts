import { bindSpan } from '@certwright/tracing';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HttpAppOptions } from './http-options';

/** Status in log and metrics when the client disconnected before the response was complete; nginx uses the same. */
const clientClosedRequest = 499;

/** Polled every few seconds; logged at debug level. */
export const quietRoutes: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/**
 * Writes one log line and one observation when the response has ended. Contains the route's pattern instead of the
 * path, since a path may contain a secret, as in a download.
 */
export function logWhenSent(
  request: FastifyRequest,
  reply: FastifyReply,
  { log, metrics, logOf = () => ({}) }: HttpAppOptions,
): void {
  const begun = performance.now();
  const write = (): void => {
    const ms = performance.now() - begun;
    const route = request.is404 ? undefined : request.routeOptions.url;
    const status = reply.raw.writableFinished ? reply.raw.statusCode : clientClosedRequest;
    metrics.observeRequest({ method: request.method, route, status, seconds: ms / 1_000 });
    const level = route !== undefined && quietRoutes.has(route) ? 'debug' : 'info';
    log[level](
      {
        method: request.method,
        route: route ?? null,
        status,
        ms: Math.round(ms * 10) / 10,
        request_id: request.id,
        account_id: request.caller?.accountId,
        ...logOf(request),
      },
      'request',
    );
  };
  reply.raw.once('close', bindSpan(write));
}
