import type { TLSSocket } from 'node:tls';
import { Problem } from '@certwright/errors';
import { documentationPaths, type Rate, type TokenBuckets } from '@certwright/service';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ClientClocks } from './client-clocks';
import { type ClientGrants, grants } from './client-grants';
import { identityIn, isInForce } from './client-identity';

declare module 'fastify' {
  interface FastifyRequest {
    /** The identity in the client's certificate; empty when there is none or the certificate is not valid now. */
    client: string;
  }
}

export interface Admission {
  readonly clients: ClientGrants;
  readonly buckets: TokenBuckets;
  /** Per client. */
  readonly rate: Rate;
  readonly now: () => Date;
  readonly clocks: Pick<ClientClocks, 'saw'>;
}

const documentation = documentationPaths('');

/** Health and documentation disclose no client data. Every other route requires a grant. */
const openRoutes: ReadonlySet<string> = new Set([
  '/healthz',
  '/readyz',
  ...documentation.roots,
  documentation.docs,
  documentation.assets,
  documentation.openApi,
]);

/** Checks identity, grant and capacity before a body is read. TLS has verified the certificate. */
export function admitClients(instance: FastifyInstance, admission: Admission): void {
  instance.decorateRequest('client', '');
  instance.addHook('onRequest', async (request: FastifyRequest) => {
    const route = request.routeOptions.url;
    if (route !== undefined && openRoutes.has(route)) return;
    const identity = identityOf(request.raw.socket as TLSSocket, admission.now());
    request.client = identity ?? '';
    const grant = grants.find((each) => `/${each}` === route);
    if (identity === null || grant === undefined || !admission.clients.allows(identity, grant)) {
      throw new Problem('unauthorized', 'The client of this certificate may not use this endpoint.');
    }
    admission.clocks.saw(identity, request.headers.date);
    await takeOne(identity, admission);
  });
}

function identityOf(socket: TLSSocket, now: Date): string | null {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined;
  if (certificate === undefined || !isInForce(certificate, now)) return null;
  return identityIn(certificate.subjectAltName);
}

async function takeOne(identity: string, { buckets, rate }: Admission): Promise<void> {
  const taken = await buckets.take(identity, { ...rate, cost: 1 });
  if (taken.ok) return;
  throw new Problem('rate_limited', `This client may ask ${rate.ratePerS} times a second.`, {
    retryAfterS: taken.retryAfterS,
  });
}
