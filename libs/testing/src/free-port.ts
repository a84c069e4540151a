import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ports that systems give to outgoing connections, so that none of those takes one before its server listens. */
const range = { min: 10_240, below: 32_768 };

/** A TCP port without a listener at 127.0.0.1 at this moment. A server that can listen on port 0 does that instead. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(range.min, range.below);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
