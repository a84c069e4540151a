import { addressKey } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Access, AnonymousQuery } from '../access/access';
import { SearchAccess } from '../access/search-access';

/** A request that was let in. */
export interface Admitted {
  readonly access: Access;
  /** The client's address as it is counted. */
  readonly addressKey: string;
}

/** The door that every request about issuances goes through, before its query is read. */
@Injectable()
export class Admission {
  constructor(private readonly access: SearchAccess) {}

  /** @throws Problem as `SearchAccess.admit` */
  async admit(request: FastifyRequest): Promise<Admitted> {
    const address = addressKey(request.ip, request.socket.remoteAddress);
    const { authorization } = request.headers;
    const access = await this.access.admit({ authorization, addressKey: address });
    // The log line of the request tells whose it was.
    if (access.kind === 'key') request.caller = { accountId: access.accountId, keyId: access.keyId };
    return { access, addressKey: address };
  }

  /** @throws Problem as `SearchAccess.requireFirehose` */
  async admitToFirehose(request: FastifyRequest): Promise<Admitted> {
    const admitted = await this.admit(request);
    this.access.requireFirehose(admitted.access);
    return admitted;
  }

  /** Once the query was found valid. @throws Problem `rate_limited` */
  async count({ access, addressKey: address }: Admitted, query: AnonymousQuery): Promise<void> {
    await this.access.countAnonymous(access, address, query);
  }
}
