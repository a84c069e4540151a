import { setImmediate } from 'node:timers/promises';
import { inOwnTime, withoutDatabaseTime } from '@certwright/core-schema';
import { Products } from '@certwright/ordering';
import { Injectable } from '@nestjs/common';
import { AgentDirectory } from './agent-directory';
import { ClusterChangesRepository, type ClusterKey } from './cluster-changes.repository';
import { type ClusterChanges, stateFor } from './cluster-state';
import { Rollouts } from './rollouts.repository';
import { type Waiter, WaitingAgents } from './waiting-agents';

/** Distinct versions of one cluster's waiting agents that are read in one round; others follow in the next one. */
const maxReads = 20;

const responsesAtOnce = 25;

/** The states that agents see, for those that wait and those that do not. */
@Injectable()
export class AgentStates {
  /** By cluster and version. */
  readonly #readings = new Map<string, Promise<ClusterChanges | null>>();

  constructor(
    private readonly changes: ClusterChangesRepository,
    private readonly rollouts: Rollouts,
    private readonly products: Products,
    private readonly waiting: WaitingAgents,
    private readonly directory: AgentDirectory,
  ) {}

  /**
   * Agents of a cluster that request the same page at the same time share one read, as after a restart of their hosts.
   *
   * @returns JSON; null: nothing changed; `removed`: the cluster was deleted
   */
  async of(agentId: string, cluster: ClusterKey, after: number): Promise<string | null | 'removed'> {
    const page = `${cluster.accountId}\n${cluster.name}\n${after}`;
    const reading =
      this.#readings.get(page) ??
      // It does not count as time of the request that starts it.
      withoutDatabaseTime(async () => await this.read(cluster, after, [agentId]));
    this.#readings.set(page, reading);
    const changes = await inOwnTime(reading.finally(() => this.#readings.delete(page)));
    if (changes === null) return 'removed';
    const state = stateFor(agentId, after, changes, await this.products.byName());
    return state === null ? null : JSON.stringify(state);
  }

  /**
   * Responds to the agents of a cluster that has changed. Their states come from one page for all of them that have the
   * same version.
   */
  async respond(cluster: ClusterKey, version: number): Promise<void> {
    const behind = this.waiting.of(cluster).filter(({ after }) => after !== version);
    if (behind.length === 0) return;
    const present = await this.directory.present(behind.map(({ agent }) => agent.id));
    const byVersion = new Map<number, Waiter[]>();
    for (const waiter of behind) {
      if (present.has(waiter.agent.id)) {
        const same = byVersion.get(waiter.after);
        if (same === undefined) byVersion.set(waiter.after, [waiter]);
        else same.push(waiter);
      } else waiter.end({ kind: 'removed' });
    }
    for (const [after, waiters] of [...byVersion].slice(0, maxReads)) {
      const changes = await this.read(
        cluster,
        after,
        waiters.map(({ agent }) => agent.id),
      );
      if (changes === null) for (const waiter of waiters) waiter.end({ kind: 'removed' });
      else await this.send(waiters, after, changes);
    }
  }

  private async send(waiters: readonly Waiter[], after: number, changes: ClusterChanges): Promise<void> {
    const products = await this.products.byName();
    for (const [index, waiter] of waiters.entries()) {
      // A thousand responses take a tenth of a second: other requests come in between.
      if (index % responsesAtOnce === responsesAtOnce - 1) await setImmediate();
      const state = stateFor(waiter.agent.id, after, changes, products);
      // It does not see what changed, and goes on waiting.
      if (state === null) waiter.after = changes.version;
      else waiter.end({ kind: 'state', json: JSON.stringify(state) });
    }
  }

  /** @param agents that get these changes; others of the cluster that poll now may go first too */
  private async read(
    cluster: ClusterKey,
    after: number,
    agents: readonly string[],
  ): Promise<ClusterChanges | null> {
    const changes = await this.changes.after(cluster, after);
    if (changes === null || changes.memberCount === 1) return changes;
    const polling = new Set([...agents, ...this.waiting.of(cluster).map(({ agent }) => agent.id)]);
    return { ...changes, orders: await this.rollouts.begin(changes.orders, [...polling]) };
  }
}
