import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Agent } from './agent-directory';

/** An agent is offline after 15 minutes: what is stored is at most a third of that old. */
const rewriteAfterMs = 5 * 60_000;

/** Rows per second: 10,000 agents need 34 of them, and 40 is the limit with everything else that is written. */
const maxRowsPerFlush = 36;

/** An agent that was not seen for this long is forgotten here, ms. */
const forgottenAfterMs = 15 * 60_000;

interface Seen {
  readonly atMs: number;
  readonly offsetS: number;
  readonly storedAtMs: number;
}

/** When agents were last seen, written in batches. What a crash loses is seen again a minute later. */
@Injectable()
export class LastSeen {
  readonly #seen = new Map<string, Seen>();

  constructor(private readonly database: DataSource) {}

  /** @param offsetS by how much the clock of the agent is ahead */
  note({ id, lastSeenAt }: Pick<Agent, 'id' | 'lastSeenAt'>, offsetS: number, nowMs = Date.now()): void {
    // Another process may have stored it meanwhile.
    const storedAtMs = Math.max(this.#seen.get(id)?.storedAtMs ?? 0, lastSeenAt?.getTime() ?? 0);
    this.#seen.set(id, { atMs: nowMs, offsetS, storedAtMs });
  }

  /** Called every second. Those that were stored longest ago, or never, come first. */
  async flush(nowMs = Date.now()): Promise<number> {
    const due: (readonly [string, Seen])[] = [];
    for (const entry of this.#seen) {
      const [id, { atMs, storedAtMs }] = entry;
      if (nowMs - storedAtMs >= rewriteAfterMs && atMs > storedAtMs) due.push(entry);
      else if (nowMs - atMs > forgottenAfterMs) this.#seen.delete(id);
    }
    if (due.length === 0) return 0;
    const batch = due
      .sort(([, one], [, other]) => one.storedAtMs - other.storedAtMs)
      .slice(0, maxRowsPerFlush)
      // One sequence for all processes: no deadlock.
      .sort(([one], [other]) => (one < other ? -1 : 1));
    await this.database.query(
      `UPDATE agent SET last_seen_at = greatest(last_seen_at, seen.at), clock_offset_s = seen.offset_s
       FROM unnest($1::text[], $2::timestamptz[], $3::int[]) AS seen (id, at, offset_s)
       WHERE agent.id = seen.id AND removed_at IS NULL`,
      [
        batch.map(([id]) => id),
        batch.map(([, { atMs }]) => new Date(atMs)),
        batch.map(([, { offsetS }]) => offsetS),
      ],
    );
    for (const [id, { atMs }] of batch)
      this.#seen.set(id, { ...(this.#seen.get(id) ?? { atMs, offsetS: 0 }), storedAtMs: atMs });
    return batch.length;
  }
}
