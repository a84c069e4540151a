import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP connection to a server that a spec can cut and restore, as a network or a fail-over does. */
export interface SeverableLink {
  readonly port: number;
  /** Ends every connection and refuses new ones. */
  cut(): void;
  restore(): void;
  close(): Promise<void>;
}

/** @param carry responses to the client */
export async function severableLink(
  target: { readonly host: string; readonly port: number },
  carry = (from: Socket, to: Socket): void => void from.pipe(to),
): Promise<SeverableLink> {
  const sockets = new Set<Socket>();
  let severed = false;
  const keep = (socket: Socket, peer: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      peer.destroy();
    });
  };
  const server = createServer((client) => {
    if (severed) return void client.resetAndDestroy();
    const upstream = connect(target);
    keep(client, upstream);
    keep(upstream, client);
    client.pipe(upstream);
    carry(upstream, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    severed = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    restore: () => void (severed = false),
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
