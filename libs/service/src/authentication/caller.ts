import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { CallerIdentity } from './authenticator';

declare module 'fastify' {
  interface FastifyRequest {
    /** `null` on public routes, and until the request is let in. */
    caller: CallerIdentity | null;
  }
}

/** `@Caller() caller: CallerIdentity` in a controller: who calls. On a public route it is a mistake, and throws. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): CallerIdentity => {
  const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
  if (caller === null) throw new Error('@Caller() stands on a public route, where nobody has said who calls');
  return caller;
});
