import { createSocket, type Socket } from 'node:dgram';
import type { AddressInfo } from 'node:net';
import * as packet from 'dns-packet';

/** The response for a name: addresses of both families, a response code, or none. */
export type Answer = readonly string[] | 'SERVFAIL' | 'REFUSED' | 'silence';

const responseCodes = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 } as const;

/** A real name server over UDP on loopback with responses set by a spec. */
export class NameServer {
  /** Queries in the order of arrival: name and type: `www.example.com A`. */
  readonly asked: string[] = [];
  readonly #names = new Map<string, readonly Answer[]>();
  readonly #seen = new Map<string, number>();

  private constructor(private readonly socket: Socket) {
    socket.on('message', (message, { address, port }) => {
      const reply = this.#reply(message);
      if (reply !== null) socket.send(reply, port, address);
    });
  }

  static async open(): Promise<NameServer> {
    const socket = createSocket('udp4');
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    return new NameServer(socket);
  }

  get address(): { readonly host: string; readonly port: number } {
    return { host: '127.0.0.1', port: (this.socket.address() as AddressInfo).port };
  }

  /** The nth lookup gets the nth answer, or the last one. Other names do not exist. */
  says(name: string, ...answers: readonly Answer[]): void {
    this.#names.set(name, answers);
    for (const type of ['A', 'AAAA']) this.#seen.delete(`${name} ${type}`);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.socket.close(resolve));
  }

  #reply(message: Buffer): Buffer | null {
    const { id, questions = [] } = packet.decode(message);
    const [question] = questions;
    if (question === undefined) return null;
    const { name, type } = question;
    const key = `${name} ${type}`;
    this.asked.push(key);
    const answers = this.#names.get(name);
    const seen = this.#seen.get(key) ?? 0;
    this.#seen.set(key, seen + 1);
    const answer = answers?.[Math.min(seen, answers.length - 1)];
    if (answer === 'silence') return null;
    const rcode =
      answer === undefined ? responseCodes.NXDOMAIN : typeof answer === 'string' ? responseCodes[answer] : 0;
    const addresses = typeof answer === 'object' ? answer : [];
    return packet.encode({
      type: 'response',
      id,
      flags: packet.RECURSION_DESIRED | packet.RECURSION_AVAILABLE | rcode,
      questions,
      answers: addresses
        .filter((address) => address.includes(':') === (type === 'AAAA'))
        .map((data) => ({ name, type: type as 'A' | 'AAAA', ttl: 0, data })),
    });
  }
}
