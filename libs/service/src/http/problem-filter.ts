import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { Problem } from '@certwright/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../logging/logger';
import { type ProblemResponse, responseTo, type RenderProblem } from './problem-response';
import { classifyError, type ToProblem } from './problem-of';

export interface ProblemHandling {
  readonly log: Logger;
  readonly renderProblem: RenderProblem;
  readonly toProblem: ToProblem;
  readonly jsonContentType: string;
  /** Headers of every response. */
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes. */
  readonly maxBodyBytes: number;
}

/** Handles every error of a request: thrown by a handler, a pipe, a hook, a body parser or the router. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly handling: ProblemHandling) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendProblem(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), this.handling);
  }
}

export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { log, renderProblem, toProblem, jsonContentType, maxBodyBytes }: ProblemHandling,
): void {
  const ofRoute = request.routeOptions.config?.maxBodyBytes;
  const { problem, unexpected } = classifyError(error, toProblem, ofRoute ?? maxBodyBytes);
  if (unexpected)
    log.error(
      { err: error, request_id: request.id, route: request.routeOptions.url ?? null },
      'a request failed',
    );
  if (reply.raw.headersSent) {
    // Part of the response was sent. Only a cut connection shows the client that the rest is missing.
    reply.raw.destroy();
    return;
  }
  const response = renderSafely(problem, renderProblem, jsonContentType, log);
  // Fastify closes the connection after a body that it did not read. Node discards the rest of the body within the
  // request's time limit, so that a client that is still sending gets the response and not a reset.
  if (request.server.server.listening) reply.removeHeader('connection');
  // A Buffer, since Fastify adds a charset to text after all hooks have run.
  void reply.code(response.status).headers(response.headers).send(Buffer.from(response.body));
}

/** When rendering throws, Fastify's own response would reveal the error message. */
export function renderSafely(
  problem: Problem,
  render: RenderProblem,
  jsonContentType: string,
  log: Logger,
): ProblemResponse {
  try {
    return responseTo(problem, render, jsonContentType);
  } catch (error) {
    log.error({ err: error, code: problem.code }, 'a problem could not be rendered');
    return { status: 500, headers: { 'content-type': jsonContentType }, body: '{"code":"internal_error"}' };
  }
}
