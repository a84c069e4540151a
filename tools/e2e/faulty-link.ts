import type { Socket } from 'node:net';
import { severableLink } from '@certwright/testing';

/** The fault of one connection. Counts bytes from the server, including TLS. */
export type Fault =
  | { readonly kind: 'none' }
  /** Resets the connection after this number of bytes. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** Discards all data after this number of bytes, but keeps the connection open. */
  | { readonly kind: 'swallow'; readonly afterBytes: number }
  /** Delays all data, ms. */
  | { readonly kind: 'delay'; readonly byMs: number };

/** A TCP proxy that truncates, delays or discards responses, one fault per connection. */
export interface FaultyLink {
  readonly port: number;
  /** Number of connections with faults so far. */
  faults(): number;
  /** Closes open connections. @param next the fault of each new connection */
  disturb(next: () => Fault): void;
  close(): Promise<void>;
}

export async function faultyLink(target: {
  readonly host: string;
  readonly port: number;
}): Promise<FaultyLink> {
  let next = (): Fault => ({ kind: 'none' });
  let faults = 0;
  const link = await severableLink(target, (from, to) => {
    const fault = next();
    if (fault.kind !== 'none') faults += 1;
    carry(from, to, fault);
  });
  return {
    port: link.port,
    faults: () => faults,
    disturb: (then) => {
      next = then;
      link.cut();
      link.restore();
    },
    close: link.close,
  };
}

function carry(from: Socket, to: Socket, fault: Fault): void {
  let bytes = 0;
  from.on('data', (chunk: Buffer) => {
    if (fault.kind === 'none') return void to.write(chunk);
    if (fault.kind === 'delay') return void setTimeout(() => to.write(chunk), fault.byMs);
    const passing = chunk.subarray(0, Math.max(0, fault.afterBytes - bytes));
    bytes += chunk.length;
    to.write(passing, () => {
      if (bytes > fault.afterBytes && fault.kind === 'cut') to.resetAndDestroy();
    });
  });
}
