import { addressKey } from '@certwright/service';
import { type CanActivate, createParamDecorator, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type Access, SearchAccess } from './search-access';

/** An admitted request. */
export interface Admitted {
  readonly access: Access;
  /** The client's address for rate limits. */
  readonly addressKey: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `AdmissionGuard`. */
    admitted?: Admitted;
  }
}

const requestOf = (context: ExecutionContext) => context.switchToHttp().getRequest<FastifyRequest>();

function admittedOf({ admitted }: FastifyRequest): Admitted {
  if (admitted === undefined) throw new Error('the route lacks AdmissionGuard');
  return admitted;
}

/** Admits requests for issuances, with an API key or anonymous, before the query is parsed. */
@Injectable()
export class AdmissionGuard implements CanActivate {
  constructor(private readonly access: SearchAccess) {}

  /** @throws Problem as `SearchAccess.admit` */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    const address = addressKey(request.ip, request.socket.remoteAddress);
    const { authorization } = request.headers;
    const access = await this.access.admit({ authorization, addressKey: address });
    // For the log line of the request.
    if (access.kind === 'key') request.caller = { accountId: access.accountId, keyId: access.keyId };
    request.admitted = { access, addressKey: address };
    return true;
  }
}

/** After `AdmissionGuard`: whether the plan includes the firehose. */
@Injectable()
export class FirehoseGuard implements CanActivate {
  constructor(private readonly access: SearchAccess) {}

  /** @throws Problem as `SearchAccess.requireFirehose` */
  canActivate(context: ExecutionContext): boolean {
    this.access.requireFirehose(admittedOf(requestOf(context)).access);
    return true;
  }
}

/** `@AdmittedRequest() admitted: Admitted`. */
export const AdmittedRequest = createParamDecorator((_data: unknown, context: ExecutionContext): Admitted =>
  admittedOf(requestOf(context)),
);
