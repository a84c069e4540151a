import { Injectable } from '@nestjs/common';
import type { Tx } from '../transactions/transactions';

/** Transactions that have written to the outbox. */
const writing = new WeakSet<Tx>();

export const writesToOutbox = (tx: Tx): void => void writing.add(tx);

/** Tells about transactions of this process that wrote to the outbox, so that a relay need not look all the time. */
@Injectable()
export class OutboxWrites {
  #listener: (() => void) | null = null;

  /** @param listener called after the commit; must not throw */
  onCommitted(listener: () => void): void {
    this.#listener = listener;
  }

  /** To be called after the commit of any transaction. */
  committed(tx: Tx): void {
    if (writing.has(tx)) this.#listener?.();
  }
}
