import { type KeyObject } from 'node:crypto';
import { ed25519PublicKey } from '@certwright/agent-contract';
import { SharedReads } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** A member of a cluster. */
export interface Agent {
  readonly id: string;
  readonly accountId: string;
  readonly cluster: string;
  readonly identityKey: KeyObject;
  /** As it was stored when the agent was looked up. */
  readonly lastSeenAt: Date | null;
}

interface AgentRow extends Omit<Agent, 'identityKey'> {
  readonly identityKey: Buffer;
}

/** A removed agent is refused within this time, ms. The requirement is 10 s. */
const keptMs = 5_000;

/** Entries, about 1 KB each. */
const maxKept = 12_000;

/** Finds agents by their id: concurrent requests share a statement. */
@Injectable()
export class AgentDirectory {
  readonly #kept = new Map<string, { readonly agent: Agent; readonly untilMs: number }>();
  readonly #reads = new SharedReads<string, Agent | null>(async (ids) => {
    const agents = this.#keep(await this.#read(ids));
    return ids.map((id) => agents.get(id) ?? null);
  });

  constructor(private readonly database: DataSource) {}

  /** @returns null for an unknown or removed agent, and for one of a disabled account */
  async find(id: string): Promise<Agent | null> {
    const kept = this.#kept.get(id);
    if (kept !== undefined && kept.untilMs > performance.now()) return kept.agent;
    return await this.#reads.read(id);
  }

  /** Those that are still members. */
  async present(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set((await this.#read(ids)).map(({ id }) => id));
  }

  async #read(ids: readonly string[]): Promise<AgentRow[]> {
    return await this.database.query(
      `SELECT agent.id, account_id AS "accountId", cluster, identity_key AS "identityKey",
         last_seen_at AS "lastSeenAt"
       FROM agent JOIN account ON account.id = account_id
       WHERE agent.id = ANY ($1::text[]) AND removed_at IS NULL AND disabled_at IS NULL`,
      [ids],
    );
  }

  #keep(rows: readonly AgentRow[]): ReadonlyMap<string, Agent> {
    const untilMs = performance.now() + keptMs;
    const agents = rows.map((row) => ({ ...row, identityKey: ed25519PublicKey(row.identityKey) }));
    for (const agent of agents) {
      this.#kept.delete(agent.id);
      this.#kept.set(agent.id, { agent, untilMs });
    }
    // The oldest come first.
    for (const [id, kept] of this.#kept) {
      if (this.#kept.size <= maxKept && kept.untilMs > performance.now()) break;
      this.#kept.delete(id);
    }
    return new Map(agents.map((agent) => [agent.id, agent]));
  }
}
