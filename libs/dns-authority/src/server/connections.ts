import { type Socket } from 'node:net';

/** A connection, and whether it has a message under way. */
export interface Connection {
  readonly socket: Socket;
  /** The client; see `networkOf`. */
  readonly network: string;
  busy: boolean;
}

/**
 * A limited set of open connections. A new one is always admitted: beyond the limit, the least recently active
 * connection of the network with the most connections is closed (RFC 7766 section 6.2.3 allows closing idle ones
 * under load). If new ones were refused, a few silent connections would lock all clients out.
 */
export class Connections {
  /** The least recently active first. */
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

  /** Call when the connection had a message. */
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

/** The IPv4 address, or the /64 of an IPv6 address, since one host may have all of it. */
export function networkOf(address: string): string {
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array<string>(Math.max(0, 8 - groups.length - after.length)).fill('0');
  return [...groups, ...zeros, ...after].slice(0, 4).join(':');
}
