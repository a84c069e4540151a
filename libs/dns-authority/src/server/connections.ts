import { type Socket } from 'node:net';

/** One connection, and whether it has a message under way. */
export interface Connection {
  readonly socket: Socket;
  /** Who is on the other side. */
  readonly network: string;
  busy: boolean;
}

/**
 * The open connections, at most so many. A new one is always let in: for one too many, of those who hold the most, the
 * connection that was silent for longest is cut (RFC 7766 section 6.2.3 lets a server close idle ones under load). Were the
 * new one turned away, a handful of silent connections would lock everybody out.
 */
export class Connections {
  /** The one silent for longest first. */
  readonly #open = new Set<Connection>();

  constructor(private readonly most: number) {}

  add(socket: Socket): Connection {
    const connection = { socket, network: networkOf(socket.remoteAddress ?? ''), busy: false };
    this.#open.add(connection);
    if (this.#open.size > this.most) this.#cutOne();
    return connection;
  }

  remove(connection: Connection): void {
    this.#open.delete(connection);
  }

  /** It had a message. */
  spoke(connection: Connection): void {
    if (this.#open.delete(connection)) this.#open.add(connection);
  }

  cut(which: (connection: Connection) => boolean): void {
    for (const connection of this.#open) if (which(connection)) connection.socket.destroy();
  }

  #cutOne(): void {
    const held = new Map<string, number>();
    for (const { network } of this.#open) held.set(network, (held.get(network) ?? 0) + 1);
    const most = Math.max(...held.values());
    for (const connection of this.#open) {
      if (held.get(connection.network) !== most) continue;
      this.remove(connection);
      connection.socket.destroy();
      return;
    }
  }
}

/** An IPv4 address; of IPv6 the /64, all of whose addresses one host may have. */
export function networkOf(address: string): string {
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array<string>(Math.max(0, 8 - groups.length - after.length)).fill('0');
  return [...groups, ...zeros, ...after].slice(0, 4).join(':');
}
