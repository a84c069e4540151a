import { constants } from 'node:crypto';
import type { Server, ServerOptions } from 'node:https';
import { TLSSocket } from 'node:tls';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from '../logging/logger';

/** Mutual TLS: who has no certificate under `clientCa` does not get as far as a request. All of it PEM. */
export interface HttpTls {
  readonly key: string;
  /** The server's own, followed by what leads to the root that clients trust. */
  readonly certificate: string;
  /** One or more roots. Those of the system are not believed. */
  readonly clientCa: string;
}

/** @param handshakeMs after which a client that has not finished its handshake is cut off */
export function tlsServerOptions(tls: HttpTls, handshakeMs: number): ServerOptions {
  return {
    ...secureContext(tls),
    requestCert: true,
    rejectUnauthorized: true,
    handshakeTimeout: handshakeMs,
    ALPNProtocols: ['http/1.1'],
  };
}

function secureContext({ key, certificate, clientCa }: HttpTls): ServerOptions {
  return {
    key,
    cert: certificate,
    ca: clientCa,
    minVersion: 'TLSv1.2',
    // A resumed session would bring its client certificate along unchecked, past its expiry and the change of `clientCa`.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

/**
 * Takes other keys and certificates into use without a restart; connections under way keep theirs until they are idle.
 *
 * @throws Error when they cannot be used; the old ones then stay
 */
export function renewTls(app: NestFastifyApplication, tls: HttpTls): void {
  const server: unknown = app.getHttpServer();
  (server as Server).setSecureContext(secureContext(tls));
  (server as Server).closeIdleConnections();
}

/** Whether there is no connection yet to answer on: the handshake failed, or the client's certificate was refused. */
export function isUnadmitted(socket: object): socket is TLSSocket {
  return socket instanceof TLSSocket && !socket.authorized;
}

export function logUnadmitted(error: { readonly code?: string }, socket: TLSSocket, log: Logger): void {
  log.info(
    {
      code: error.code ?? null,
      refused: String(socket.authorizationError ?? '') || null,
      peer: socket.remoteAddress ?? null,
    },
    'no TLS connection',
  );
}
