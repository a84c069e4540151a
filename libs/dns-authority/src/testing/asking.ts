import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import * as packet from 'dns-packet';

/** A query as a resolver sends it. */
export function queryMessage(name: string, type: string, more: Partial<packet.Packet> = {}): Buffer {
  return packet.encode({
    type: 'query',
    id: 0x1234,
    flags: packet.RECURSION_DESIRED,
    questions: [{ name, type: type as packet.RecordType, class: 'IN' }],
    ...more,
  });
}

export function optRecord(udpPayloadSize: number, ednsVersion = 0, flags = 0): packet.Answer {
  return {
    type: 'OPT',
    name: '.',
    udpPayloadSize,
    extendedRcode: 0,
    ednsVersion,
    flags,
    flag_do: flags !== 0,
    options: [],
  };
}

/** Timeout of an immediate response, in milliseconds. */
const PATIENCE_MS = 20_000;

/** The first response datagram, or `undefined` after `patienceMs`. */
export async function askUdp(
  port: number,
  message: Buffer,
  patienceMs = PATIENCE_MS,
): Promise<Buffer | undefined> {
  const socket = createSocket('udp4');
  try {
    const received = once(socket, 'message', { signal: AbortSignal.timeout(patienceMs) });
    socket.send(message, port, '127.0.0.1');
    return ((await received) as [Buffer])[0];
  } catch (error) {
    if ((error as Error).name === 'AbortError') return undefined;
    throw error;
  } finally {
    socket.close();
  }
}

/** All responses on one connection, until the server closes it or `answers` messages came. */
export async function askTcp(port: number, bytes: Buffer, answers: number): Promise<Buffer[]> {
  const socket = connect({ port, host: '127.0.0.1', signal: AbortSignal.timeout(PATIENCE_MS) });
  const messages: Buffer[] = [];
  try {
    socket.write(bytes);
    let buffered = Buffer.alloc(0);
    for await (const chunk of socket) {
      buffered = Buffer.concat([buffered, chunk as Buffer]);
      while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
        const end = 2 + buffered.readUInt16BE(0);
        messages.push(buffered.subarray(2, end));
        buffered = buffered.subarray(end);
      }
      if (messages.length >= answers) break;
    }
  } catch (error) {
    // A cut connection is a valid outcome.
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
  } finally {
    socket.destroy();
  }
  return messages;
}

export function withLength(...messages: Buffer[]): Buffer {
  return Buffer.concat(
    messages.flatMap((message) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length);
      return [length, message];
    }),
  );
}

/** The rcode's number. */
export function rcodeOf(response: Buffer | undefined): number {
  if (response === undefined) throw new Error('There was no answer.');
  return response.readUInt16BE(2) & 0xf;
}
