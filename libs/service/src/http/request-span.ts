import { beginSpan, readTraceparent, type SpanCause } from '@certwright/tracing';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { knownMethods } from '../operations/metrics';
import { quietRoutes } from './request-log';

/**
 * Handles a request in a span of its own, which ends with the response. It has the route's pattern instead of the
 * path, like the log.
 *
 * @param as what the `traceparent` of the request is to the span
 */
export const inRequestSpan =
  (as: SpanCause['as']) =>
  (handle: () => void, request: FastifyRequest, reply: FastifyReply): void => {
    const route = request.is404 ? undefined : request.routeOptions.url;
    if (route !== undefined && quietRoutes.has(route)) return handle();
    const method = knownMethods.has(request.method) ? request.method : '_OTHER';
    const attributes = {
      'http.request.method': method,
      'http.route': route,
      'certwright.request_id': request.id,
    };
    const options = { kind: 'server', cause: causeOf(request, as), attributes } as const;
    beginSpan(route === undefined ? method : `${method} ${route}`, options, (span) => {
      reply.raw.once('close', () => {
        const isSent = reply.raw.writableFinished;
        span?.set({
          'http.response.status_code': isSent ? reply.raw.statusCode : undefined,
          'error.type': isSent ? undefined : 'client_closed_request',
          'certwright.account_id': request.caller?.accountId,
        });
        span?.end(isSent && reply.raw.statusCode >= 500 ? 'failed' : 'ok');
      });
      handle();
    });
  };

function causeOf({ headers }: FastifyRequest, as: SpanCause['as']): SpanCause | null {
  const { traceparent } = headers;
  return typeof traceparent === 'string' && readTraceparent(traceparent) !== null
    ? { traceparent, as }
    : null;
}
