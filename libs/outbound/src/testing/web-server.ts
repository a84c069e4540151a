import { createServer as createHttpServer, type RequestListener, type Server as HttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { KeyAndCertificate } from '@certwright/testing';

export interface WebServer {
  readonly port: number;
  /** Connections taken so far, and those still open. */
  readonly connections: { taken: number; open: number };
  close(): Promise<void>;
}

/** A real web server on loopback. */
export function serveHttp(listener: RequestListener): Promise<WebServer> {
  return listening(createHttpServer(listener));
}

export function serveHttps(
  { key, certificate }: KeyAndCertificate,
  listener: RequestListener,
): Promise<WebServer> {
  return listening(createHttpsServer({ key, cert: certificate }, listener));
}

/** A server that sends arbitrary bytes. */
export function serveBytes(onConnection: (socket: Socket) => void): Promise<WebServer> {
  return listening(
    createServer((socket) => {
      socket.on('error', () => undefined);
      onConnection(socket);
    }),
  );
}

async function listening(server: Server | HttpServer): Promise<WebServer> {
  const connections = { taken: 0, open: 0 };
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.taken += 1;
    connections.open += 1;
    sockets.add(socket);
    socket.on('close', () => {
      connections.open -= 1;
      sockets.delete(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connections,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
