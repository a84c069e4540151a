import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { Problem } from '@certwright/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../logging/logger';
import { type Answer, answerTo, type RenderProblem } from './answer';
import { judge, type ToProblem } from './problem-of';

export interface ProblemAnswering {
  readonly log: Logger;
  readonly renderProblem: RenderProblem;
  readonly toProblem: ToProblem;
  readonly jsonContentType: string;
  /** Of every answer, besides those of its own. */
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes. */
  readonly largestBody: number;
}

/** Every error of a request ends here: thrown by a handler, a pipe, a hook, a body parser or the router. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly answering: ProblemAnswering) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendProblem(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), this.answering);
  }
}

export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { log, renderProblem, toProblem, jsonContentType, largestBody }: ProblemAnswering,
): void {
  const { problem, unexpected } = judge(error, toProblem, largestBody);
  if (unexpected)
    log.error(
      { err: error, request_id: request.id, route: request.routeOptions.url ?? null },
      'a request failed',
    );
  if (reply.raw.headersSent) {
    // Half an answer is out, and only a cut connection tells the client that the rest is missing.
    reply.raw.destroy();
    return;
  }
  const answer = answerSafely(problem, renderProblem, jsonContentType, log);
  // Fastify closes the connection after a body it did not read. Node reads on and discards it, within the request's
  // time, so that a client that sends before it listens gets its answer and not a reset.
  if (request.server.server.listening) reply.removeHeader('connection');
  // As bytes: to a text Fastify adds a charset where no hook can take it away again.
  void reply.code(answer.status).headers(answer.headers).send(Buffer.from(answer.body));
}

/** A dialect that throws must not end in Fastify's own answer, which tells the error's text. */
export function answerSafely(
  problem: Problem,
  render: RenderProblem,
  jsonContentType: string,
  log: Logger,
): Answer {
  try {
    return answerTo(problem, render, jsonContentType);
  } catch (error) {
    log.error({ err: error, code: problem.code }, 'a problem could not be rendered');
    return { status: 500, headers: { 'content-type': jsonContentType }, body: '{"code":"internal_error"}' };
  }
}
