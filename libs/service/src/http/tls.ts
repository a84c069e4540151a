import { constants } from 'node:crypto';
import type { Server, ServerOptions } from 'node:https';
import { TLSSocket } from 'node:tls';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from '../logging/logger';

/** Mutual TLS: a client without a certificate under `clientCa` cannot send a request. All values are PEM. */
export interface HttpTls {
  readonly key: string;
  /** The server's certificate and the intermediates up to the root that clients trust. */
  readonly certificate: string;
  /** One or more roots. The system's roots are not trusted. */
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
    // A resumed session would skip the check of the client certificate, even after its expiry or a change of
    // `clientCa`.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

/**
 * Replaces keys and certificates without a restart; open connections keep the old ones until they are idle.
 *
 * @throws Error when they are not usable; the old ones then remain in use
 */
export function renewTls(app: NestFastifyApplication, tls: HttpTls): void {
  const server: unknown = app.getHttpServer();
  (server as Server).setSecureContext(secureContext(tls));
  (server as Server).closeIdleConnections();
}

/** Whether the handshake failed or the client's certificate was refused, so that no response can be sent. */
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
