import type { FastifyInstance } from 'fastify';
import type { Readiness } from '../operations/readiness';

/** `/healthz` and `/readyz` on the API's own port, for load balancers that reach no other. */
export function registerHealthRoutes(instance: FastifyInstance, readiness: Readiness): void {
  const config = { access: { kind: 'public' } } as const;
  instance.get('/healthz', { config }, () => ({ alive: true }));
  instance.get('/readyz', { config }, async (_request, reply) => {
    const { ready, state } = await readiness.report();
    // Which check failed, the operations port tells: the public needs not know what we are made of.
    return reply.code(ready ? 200 : 503).send({ ready, state });
  });
}
