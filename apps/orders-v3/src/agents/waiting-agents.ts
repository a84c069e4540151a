import type { Agent } from './agent-directory';
import type { ClusterKey } from './cluster-changes.repository';

/** Why a wait ended. A state is its JSON. */
export type WaitingEnd =
  | { readonly kind: 'state'; readonly json: string }
  | { readonly kind: 'timeout' | 'disconnected' | 'removed' }
  /** The process stops, or the agent has sent another request for its state. */
  | { readonly kind: 'ended' };

export interface Waiter {
  readonly agent: Agent;
  /** The version that the agent has; what it does not see is skipped while it waits. */
  after: number;
  /** By the clock of `performance.now()`. */
  readonly endsAtMs: number;
  readonly end: (end: WaitingEnd) => void;
}

export interface WaitingAgentsOptions {
  /** Maximum waiting agents of this process. */
  readonly maxWaiting: number;
}

/** Precision of the end of a wait. It ends earlier by at most this time, never later. */
const tickMs = 100;

/** From this share on, no account may have more than `shareOfAccount`. */
const crowdedFrom = 0.9;
const shareOfAccount = 0.25;

/** Of an account while no other one waits: agents of another one find a place, and from then on it may have fewer. */
const shareOfOnlyAccount = 0.99;

/**
 * Agents that wait for a change of their cluster. A waiting agent costs a socket and an entry here, but no database
 * connection, no timer and no statement: one sweep reads the versions of all clusters.
 */
export class WaitingAgents {
  /** By account and name of the cluster, then by agent. */
  readonly #clusters = new Map<string, { readonly key: ClusterKey; readonly waiters: Map<string, Waiter> }>();
  readonly #ofAccount = new Map<string, number>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(private readonly options: WaitingAgentsOptions) {}

  get count(): number {
    return this.#count;
  }

  get clusters(): readonly ClusterKey[] {
    return [...this.#clusters.values()].map(({ key }) => key);
  }

  of(cluster: ClusterKey): readonly Waiter[] {
    return [...(this.#clusters.get(keyOf(cluster))?.waiters.values() ?? [])];
  }

  /** @returns null when too many wait */
  wait(
    agent: Agent,
    after: number,
    forMs: number,
    onDisconnect: (disconnected: () => void) => void,
  ): Promise<WaitingEnd> | null {
    if (this.#closed) return Promise.resolve({ kind: 'ended' });
    const cluster = { accountId: agent.accountId, name: agent.cluster };
    const earlier = this.#clusters.get(keyOf(cluster))?.waiters.get(agent.id);
    earlier?.end({ kind: 'ended' });
    if (this.#isFull(agent.accountId)) return null;
    return new Promise((resolve) => {
      const waiter: Waiter = {
        agent,
        after,
        endsAtMs: performance.now() + forMs,
        end: (end) => {
          if (this.#remove(cluster, waiter)) resolve(end);
        },
      };
      this.#add(cluster, waiter);
      onDisconnect(() => waiter.end({ kind: 'disconnected' }));
    });
  }

  /** Ends all waits; later ones return at once. */
  close(): void {
    this.#closed = true;
    for (const { waiters } of [...this.#clusters.values()])
      for (const waiter of [...waiters.values()]) waiter.end({ kind: 'ended' });
  }

  #isFull(accountId: string): boolean {
    const { maxWaiting } = this.options;
    if (this.#count >= maxWaiting) return true;
    if (this.#count < maxWaiting * crowdedFrom) return false;
    const share = this.#ofAccount.size === 1 ? shareOfOnlyAccount : shareOfAccount;
    return (this.#ofAccount.get(accountId) ?? 0) >= maxWaiting * share;
  }

  #add(key: ClusterKey, waiter: Waiter): void {
    const cluster = this.#clusters.get(keyOf(key)) ?? { key, waiters: new Map<string, Waiter>() };
    this.#clusters.set(keyOf(key), cluster);
    cluster.waiters.set(waiter.agent.id, waiter);
    this.#ofAccount.set(key.accountId, (this.#ofAccount.get(key.accountId) ?? 0) + 1);
    this.#count += 1;
    this.#timer ??= setInterval(() => this.#tick(), tickMs);
  }

  /** @returns false when it has ended already */
  #remove(key: ClusterKey, waiter: Waiter): boolean {
    const cluster = this.#clusters.get(keyOf(key));
    if (cluster?.waiters.get(waiter.agent.id) !== waiter) return false;
    cluster.waiters.delete(waiter.agent.id);
    if (cluster.waiters.size === 0) this.#clusters.delete(keyOf(key));
    const left = (this.#ofAccount.get(key.accountId) ?? 1) - 1;
    if (left === 0) this.#ofAccount.delete(key.accountId);
    else this.#ofAccount.set(key.accountId, left);
    this.#count -= 1;
    if (this.#count === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    return true;
  }

  #tick(): void {
    const dueMs = performance.now() + tickMs;
    // A map may lose entries while it is iterated.
    for (const { waiters } of this.#clusters.values())
      for (const waiter of waiters.values()) if (waiter.endsAtMs <= dueMs) waiter.end({ kind: 'timeout' });
  }
}

/** A name cannot contain a line feed. */
const keyOf = ({ accountId, name }: ClusterKey) => `${accountId}\n${name}`;
