import { createSocket } from 'node:dgram';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** Bytes to send, the bytes of a stream (with or without its length prefix), or silence. */
export type Said = Buffer | { readonly stream: (socket: Socket) => void } | null;
export type Script = (request: Buffer, transport: 'udp' | 'tcp', at: number) => Said;

export interface ScriptedServer {
  readonly address: string;
  readonly port: number;
  readonly requests: readonly { readonly message: Buffer; readonly transport: 'udp' | 'tcp' }[];
  close(): Promise<void>;
}

/** A server on a name server port that sends what a spec scripts. */
export async function scriptedServer(script: Script): Promise<ScriptedServer> {
  const requests: { message: Buffer; transport: 'udp' | 'tcp' }[] = [];
  const sockets = new Set<Socket>();
  const hear = (message: Buffer, transport: 'udp' | 'tcp'): Said => {
    requests.push({ message, transport });
    return script(message, transport, requests.length - 1);
  };
  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    socket.once('data', (data) => {
      const said = hear(data.subarray(2), 'tcp');
      if (said === null) return;
      if ('stream' in said) return said.stream(socket);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(said.length);
      socket.write(Buffer.concat([length, said]));
    });
  });
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4');
  udp.on('message', (message, from) => {
    const said = hear(message, 'udp');
    if (Buffer.isBuffer(said)) udp.send(said, from.port, from.address);
  });
  await new Promise<void>((resolve, reject) => {
    udp.once('error', reject);
    udp.bind(port, '127.0.0.1', resolve);
  });
  return {
    address: '127.0.0.1',
    port,
    requests,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => tcp.close(resolve));
      await new Promise<void>((resolve) => udp.close(resolve));
    },
  };
}
