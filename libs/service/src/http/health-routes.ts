import type { FastifyInstance, RouteShorthandOptions } from 'fastify';
import type { Readiness } from '../operations/readiness';
import { type ProblemAnswering, sendProblem } from './problem-filter';

/** `/healthz` and `/readyz` on the API's own port, for load balancers that reach no other. */
export function registerHealthRoutes(
  instance: FastifyInstance,
  readiness: Readiness,
  answering: ProblemAnswering,
): void {
  const options: RouteShorthandOptions = {
    config: { access: { kind: 'public' } },
    // Nest installs its own handler of errors only for the routes that come after it.
    errorHandler: (error, request, reply) => sendProblem(error, request, reply, answering),
  };
  instance.get('/healthz', options, () => ({ alive: true }));
  instance.get('/readyz', options, async (_request, reply) => {
    const { ready, state } = await readiness.report();
    // Which check failed, the operations port tells: the public needs not know what we are made of.
    return reply.code(ready ? 200 : 503).send({ ready, state });
  });
}
