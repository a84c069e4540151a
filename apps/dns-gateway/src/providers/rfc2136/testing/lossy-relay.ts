import { createSocket } from 'node:dgram';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface LossyRelay {
  readonly address: string;
  readonly port: number;
  /** Requests relayed, UDP and TCP. */
  readonly requests: readonly Buffer[];
  /**
   * Drops every response from the next request on, until the client gives up: until `reset`, or this many requests.
   */
  loseNextResponses(requests?: number): void;
  /** Relays responses again. */
  reset(): void;
  close(): Promise<void>;
}

/** UDP retries of one exchange and its TCP connection. */
const triesOfOneExchange = 3;

/** The network of a name server: delivers every request, and may drop responses. */
export async function lossyRelay(target: {
  readonly address: string;
  readonly port: number;
}): Promise<LossyRelay> {
  const requests: Buffer[] = [];
  let losing = 0;
  const passes = (request: Buffer): boolean => {
    requests.push(request);
    losing -= 1;
    return losing < 0;
  };
  const sockets = new Set<Socket>();
  const tcp = createServer((client) => {
    const server = connect({ host: target.address, port: target.port });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.once('data', (request) => {
      const passing = passes(request);
      server.write(request);
      // The server has applied the request when it responds.
      server.on('data', (response) => (passing ? client.write(response) : client.destroy()));
    });
  });
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4');
  udp.on('message', (request, from) => {
    const passing = passes(request);
    const way = createSocket('udp4');
    way.on('error', () => way.close());
    way.on('message', (response) => {
      if (passing) udp.send(response, from.port, from.address);
      way.close();
    });
    way.unref();
    way.connect(target.port, target.address, () => way.send(request));
  });
  await new Promise<void>((resolve, reject) => {
    udp.once('error', reject);
    udp.bind(port, '127.0.0.1', resolve);
  });
  return {
    address: '127.0.0.1',
    port,
    requests,
    loseNextResponses: (count = triesOfOneExchange) => void (losing = count),
    reset: () => void ((losing = 0), (requests.length = 0)),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => tcp.close(resolve));
      await new Promise<void>((resolve) => udp.close(resolve));
    },
  };
}
