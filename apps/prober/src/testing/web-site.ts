import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface WebSite {
  readonly port: number;
  /** Requests so far, `GET www.example.com /path`. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** A real web server on loopback with one handler per path; every other path is 404. */
export async function serveSite(paths: Readonly<Record<string, RequestListener>>): Promise<WebSite> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const { method, headers, url = '' } = request;
    requests.push(`${method} ${headers.host?.split(':')[0]} ${url}`);
    const [path = ''] = url.split('?');
    const handler = paths[path];
    if (handler === undefined) response.writeHead(404).end('nothing here');
    else handler(request, response);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

export const says =
  (body: string | Buffer, status = 200): RequestListener =>
  (_request, response): void =>
    void response.writeHead(status).end(body);

export const redirectsTo =
  (location: string, status = 302): RequestListener =>
  (_request, response: ServerResponse): void =>
    void response.writeHead(status, { location }).end();
