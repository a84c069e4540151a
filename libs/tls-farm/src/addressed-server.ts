import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

export type Behaviour = (socket: Socket) => void;

export interface AddressedServer {
  readonly port: number;
  /** Addresses of the connections accepted so far, and the maximum open at once. */
  readonly taken: string[];
  readonly open: { now: number; max: number };
  close(): Promise<void>;
}

/** One port of this machine, on which each address behaves in its own way. */
export async function serveAddresses(
  behaviours: Readonly<Record<string, Behaviour>>,
): Promise<AddressedServer> {
  const taken: string[] = [];
  const open = { now: 0, max: 0 };
  const sockets = new Set<Socket>();
  const listen = async (address: string, port: number): Promise<Server> => {
    const server = createServer((socket) => {
      taken.push(address);
      open.max = Math.max(open.max, (open.now += 1));
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          open.now -= 1;
          sockets.delete(socket);
        });
      behaviours[address]?.(socket);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, address, resolve);
    });
    return server;
  };
  const servers = await listenAll(Object.keys(behaviours), listen);
  return {
    port: portOf(servers[0]),
    taken,
    open,
    close: async () => {
      const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}

type Listen = (address: string, port: number) => Promise<Server>;

/** The port of the first one may be in use at another address: then all start again. */
async function listenAll(addresses: readonly string[], listen: Listen, tries = 10): Promise<Server[]> {
  const servers: Server[] = [];
  try {
    for (const address of addresses) servers.push(await listen(address, portOf(servers[0])));
    return servers;
  } catch (error) {
    for (const server of servers) server.close();
    if (tries === 1) throw error;
    return await listenAll(addresses, listen, tries - 1);
  }
}

const portOf = (server: Server | undefined): number =>
  (server?.address() as AddressInfo | undefined)?.port ?? 0;
