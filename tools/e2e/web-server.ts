import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A customer's web server: below the paths of the rule it asks the approval responder, for all of its names. */
export interface WebServer {
  readonly port: number;
  /** Once the order has shown it. @param path where the account's rule leads to, behind the responder's address */
  follow(path: string): void;
  close(): Promise<void>;
}

/** @param responderPort of approval-responder, on loopback */
export async function startWebServer(port: number, responderPort: number): Promise<WebServer> {
  let rule: string | undefined;
  const server = createServer((question, answer) => {
    const at = question.url ?? '/';
    if (rule === undefined || !at.startsWith('/.well-known/')) return void answer.writeHead(404).end();
    const headers = { 'x-forwarded-host': question.headers.host ?? '' };
    request({ host: '127.0.0.1', port: responderPort, path: rule + at, headers }, (proxied) => {
      answer.writeHead(proxied.statusCode ?? 502, { 'content-type': 'text/plain' });
      proxied.pipe(answer);
    })
      .on('error', () => answer.writeHead(502).end())
      .end();
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    follow: (path) => void (rule = path),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
