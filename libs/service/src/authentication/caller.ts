import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { CallerIdentity } from './authenticator';

declare module 'fastify' {
  interface FastifyRequest {
    /** `null` on public routes, and until the request is authenticated. */
    caller: CallerIdentity | null;
  }
}

/** `@Caller() caller: CallerIdentity` in a controller: the authenticated caller. Throws on a public route. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): CallerIdentity => {
  const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
  if (caller === null) throw new Error('@Caller() is used on a public route, which has no caller');
  return caller;
});
