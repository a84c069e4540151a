import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { addressKey } from '../limits/client-address';
import type { Signer } from './route-access';

/** A request whose body was not read yet. */
export interface SignedHead {
  readonly headers: FastifyRequest['headers'];
  readonly method: string;
  /** As sent, percent-encoded, without the query. */
  readonly path: string;
  /** Empty, or with its question mark. */
  readonly query: string;
  /** Key under which the client's address is counted; see `addressKey`. */
  readonly addressKey: string;
  readonly signer: Signer;
}

/** Admits requests that are signed. Implemented by the application whose routes have `@Signed()`. */
export interface SignedRequests {
  /**
   * Before the body is read.
   *
   * @returns called with the body as it was sent; what it returns is the sender, for `@Sender()`
   * @throws Problem
   */
  begin(head: SignedHead): Promise<(body: Buffer) => object>;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on routes without `@Signed()`, and until the signature is verified. */
    sender: object | null;
    /** The body of a signed request, as it was sent. */
    sentBody: Buffer | null;
    finishSignature: ((body: Buffer) => object) | null;
  }
}

const noBody = Buffer.alloc(0);

/** @param admission its requests are set before the first request */
export function registerSignatureHooks(
  instance: FastifyInstance,
  admission: { readonly signedRequests?: SignedRequests | undefined },
): void {
  instance.decorateRequest('sender', null);
  instance.decorateRequest('sentBody', null);
  instance.decorateRequest('finishSignature', null);
  instance.addHook('onRequest', async (request) => {
    const { access } = request.routeOptions.config;
    if (access?.kind !== 'signed') return;
    if (admission.signedRequests === undefined) throw new Error('the application admits no signed requests');
    const [path = '', ...query] = (request.raw.url ?? '').split('?');
    request.finishSignature = await admission.signedRequests.begin({
      headers: request.headers,
      method: request.method,
      path,
      query: query.length === 0 ? '' : `?${query.join('?')}`,
      addressKey: addressKey(request.ip, request.socket.remoteAddress),
      signer: access.signer,
    });
  });
  // Asynchronous: what the signature's verification throws becomes the response.
  instance.addHook('preValidation', async (request) => {
    if (request.finishSignature !== null)
      request.sender = request.finishSignature(request.sentBody ?? noBody);
    request.finishSignature = null;
    // The parsed body is used from here on.
    request.sentBody = null;
  });
}

/** `@Sender() agent: Agent` in a controller: who signed the request. Throws on a route without `@Signed()`. */
export const Sender = createParamDecorator((_data: unknown, context: ExecutionContext): object => {
  const { sender } = context.switchToHttp().getRequest<FastifyRequest>();
  if (sender === null) throw new Error('@Sender() is used on a route without @Signed()');
  return sender;
});
