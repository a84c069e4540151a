import { createServer } from 'node:net';

/** A TCP port that nobody listens on at 127.0.0.1 at this moment; whoever can, listens on port 0 instead. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0 }, () => {
      const address = server.address();
      server.close(() => {
        if (address === null || typeof address === 'string') reject(new Error('not a TCP address'));
        else resolve(address.port);
      });
    });
  });
}
