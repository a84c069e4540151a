import type { Server } from 'node:http';
import type { Socket } from 'node:net';

const connections = new WeakMap<Server, Set<Socket>>();

/** Keeps book of a server's connections from now on, for `closeSilentConnections`. */
export function watchConnections(server: Server): void {
  const open = new Set<Socket>();
  connections.set(server, open);
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
}

/**
 * Closes the connections on which no byte has come yet: load balancers and browsers open some in advance. Node takes
 * them for busy, and a server that stops would wait for them until its time is up.
 */
export function closeSilentConnections(server: Server): void {
  for (const socket of connections.get(server) ?? []) {
    if (socket.bytesRead === 0) socket.destroy();
  }
}
