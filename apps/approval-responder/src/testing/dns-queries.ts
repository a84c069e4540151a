import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { eventually } from '@certwright/testing';
import * as packet from 'dns-packet';

export interface Question {
  readonly type?: string;
  /** Bytes announced by EDNS; absent: no EDNS. */
  readonly edns?: number;
  readonly class?: string;
  /** RD. Default false. */
  readonly recursion?: boolean;
  readonly address?: string;
}

export interface Seen {
  readonly rcode: string;
  readonly authoritative: boolean;
  readonly truncated: boolean;
  /** `TXT value` and the like. */
  readonly answers: readonly string[];
  /** `name TYPE ttl` */
  readonly authority: readonly string[];
  readonly question: string;
  readonly bytes: number;
}

const timeoutMs = 20_000;

export function queryMessage(
  name: string,
  { type = 'TXT', edns, class: inClass = 'IN', recursion = false }: Question = {},
): Buffer {
  const opt = { type: 'OPT', name: '.', udpPayloadSize: edns ?? 0, flags: 0, options: [] };
  return packet.encode({
    type: 'query',
    id: 0x1234,
    flags: recursion ? packet.RECURSION_DESIRED : 0,
    questions: [{ name, type: type as packet.RecordType, class: inClass as packet.RecordClass }],
    additionals: edns === undefined ? [] : [opt as unknown as packet.Answer],
  });
}

/** @throws an AbortError when there is no response */
export async function queryUdp(port: number, name: string, question: Question = {}): Promise<Seen> {
  const message = await datagram(port, queryMessage(name, question), question.address);
  if (message === undefined) throw new Error(`No answer for ${name}.`);
  return seen(message);
}

/** The first datagram received; `undefined` when there is none. */
export async function datagram(
  port: number,
  message: Buffer,
  address = '127.0.0.1',
  withinMs = timeoutMs,
): Promise<Buffer | undefined> {
  const socket = createSocket('udp4');
  try {
    const received = once(socket, 'message', { signal: AbortSignal.timeout(withinMs) });
    socket.send(message, port, address);
    return ((await received) as [Buffer])[0];
  } catch (error) {
    if ((error as Error).name === 'AbortError') return undefined;
    throw error;
  } finally {
    socket.close();
  }
}

/** Sends them all from one socket, and returns the response codes (numbers) received within the time. */
export async function flood(port: number, messages: readonly Buffer[], withinMs: number): Promise<number[]> {
  const socket = createSocket('udp4');
  const rcodes: number[] = [];
  socket.on('message', (response) => rcodes.push((response[3] ?? 0) & 0xf));
  for (const message of messages) socket.send(message, port, '127.0.0.1');
  await eventually(() => expect(rcodes.length).toBe(messages.length), { withinMs }).catch(() => undefined);
  socket.close();
  return rcodes;
}

export async function queryTcp(port: number, name: string, question: Question = {}): Promise<Seen> {
  const message = queryMessage(name, question);
  const socket = connect({ port, host: '127.0.0.1', signal: AbortSignal.timeout(timeoutMs) });
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  socket.write(Buffer.concat([length, message]));
  let received = Buffer.alloc(0);
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk as Buffer]);
    if (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) break;
  }
  return seen(received.subarray(2));
}

export function seen(message: Buffer): Seen {
  const read = packet.decode(message) as packet.DecodedPacket & { rcode: string };
  return {
    rcode: read.rcode,
    authoritative: read.flag_aa,
    truncated: read.flag_tc,
    answers: (read.answers ?? []).map((record) => `${record.type} ${content(record)}`),
    authority: (read.authorities ?? []).map((record) =>
      'ttl' in record ? `${record.name} ${record.type} ${record.ttl}` : record.type,
    ),
    question: read.questions?.[0]?.name ?? '',
    bytes: message.length,
  };
}

function content(record: packet.Answer): string {
  if (record.type === 'TXT') return String(record.data);
  if (record.type === 'SOA') return record.data.mname;
  if (!('data' in record)) return '';
  return typeof record.data === 'string' ? record.data : JSON.stringify(record.data);
}
