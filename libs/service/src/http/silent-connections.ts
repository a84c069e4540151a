import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer, TLSSocket } from 'node:tls';

/** By the peer's address and port; under TLS the bare connection first, and from the end of its handshake the one through it. */
const connections = new WeakMap<Server, Map<string, Socket>>();

/** Keeps book of a server's connections from now on, for `closeSilentConnections`. */
export function watchConnections(server: Server): void {
  const open = new Map<string, Socket>();
  connections.set(server, open);
  const watch = (socket: Socket): void => {
    const peer = `${socket.remoteAddress} ${socket.remotePort}`;
    open.set(peer, socket);
    socket.once('close', () => {
      if (open.get(peer) === socket) open.delete(peer);
    });
  };
  server.on('connection', watch);
  server.on('secureConnection', watch);
}

/**
 * Closes the connections on which no byte of a request has come yet: load balancers and browsers open some in advance, and
 * some never finish their handshake. Node takes them for busy, and a server that stops would wait for them until its time
 * is up.
 */
export function closeSilentConnections(server: Server): void {
  const isSecure = server instanceof TlsServer;
  for (const socket of connections.get(server)?.values() ?? []) {
    const isInHandshake = isSecure && !(socket instanceof TLSSocket);
    if (isInHandshake || socket.bytesRead === 0) socket.destroy();
  }
}
