import { inTurn } from '@certwright/issuance';
import { hasKeyRequests } from '@certwright/ordering';
import { Round, RunningProcess } from '@certwright/service';
import { type FactoryProvider, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { DataSource } from 'typeorm';
import { OrdersConfig } from '../config';
import { AgentStates } from './agent-states';
import { AgentTasks } from './agent-tasks.repository';
import { ClusterChangesRepository, type ClusterKey, type KnownCluster } from './cluster-changes.repository';
import { LastSeen } from './last-seen';
import { Rollouts } from './rollouts.repository';
import { WaitingAgents } from './waiting-agents';

const everyMs = 1_000;

/** Silent hosts have two minutes. */
const turnsEveryMs = 10_000;

/** Keys that no polling agent can seal are looked for again after this time. */
const sealsEveryMs = 15_000;

/** Then the agents get their responses, and other clusters have their turn in the next sweep. */
const maxSealsMs = 500;

const forgetEveryMs = 3_600_000;

/** Clusters whose agents get a response at the same time: each uses one connection. */
const concurrency = 3;

export const waitingAgents: FactoryProvider<WaitingAgents> = {
  provide: WaitingAgents,
  inject: [OrdersConfig, RunningProcess],
  useFactory: (
    { MAX_WAITING_AGENTS: maxWaiting }: Pick<OrdersConfig, 'MAX_WAITING_AGENTS'>,
    { metrics }: RunningProcess,
  ) => {
    const waiting = new WaitingAgents({ maxWaiting });
    new Gauge({
      name: 'certwright_waiting_agents',
      help: 'Agents that wait for a change of their cluster',
      registers: [metrics.registry],
      collect() {
        this.set(waiting.count);
      },
    });
    return waiting;
  },
};

/** Ends waiting requests when the process stops, before the server waits for its last requests. */
@Injectable()
export class EndWaitingAgents implements OnApplicationBootstrap {
  constructor(
    private readonly waiting: WaitingAgents,
    private readonly running: RunningProcess,
  ) {}

  onApplicationBootstrap(): void {
    this.running.opened('waiting agents', () => this.waiting.close());
  }
}

/** What a sweep does. */
@Injectable()
export class AgentWork {
  constructor(
    readonly tasks: AgentTasks,
    readonly rollouts: Rollouts,
    readonly changes: ClusterChangesRepository,
    readonly states: AgentStates,
    readonly lastSeen: LastSeen,
  ) {}
}

/** What is done for the agents that wait in this process: once a second, with one statement while nothing changes. */
@Injectable()
export class AgentSweep {
  readonly #nextSeals = new Map<string, number>();
  readonly #assigned: Counter<'task'>;
  #turnsAtMs = 0;
  #forgetAtMs: number | null = null;
  #isMigrated = false;

  constructor(
    private readonly waiting: WaitingAgents,
    private readonly work: AgentWork,
    @Inject(DataSource) private readonly database: DataSource,
    { metrics: { registry } }: RunningProcess,
  ) {
    this.#assigned = new Counter({
      name: 'certwright_agent_tasks_total',
      help: 'Tasks that were given to agents',
      labelNames: ['task'],
      registers: [registry],
    });
  }

  @Round('agents')
  async sweep(): Promise<number> {
    const begunMs = performance.now();
    await this.work.lastSeen.flush();
    await this.forget(begunMs);
    const clusters = this.waiting.clusters;
    if (clusters.length > 0) await this.serve(clusters, begunMs);
    return Math.max(0, everyMs - (performance.now() - begunMs));
  }

  private async serve(clusters: readonly ClusterKey[], nowMs: number): Promise<void> {
    const { tasks, rollouts, changes, states } = this.work;
    const agentsOf = (cluster: ClusterKey) => this.waiting.of(cluster).map(({ agent }) => agent.id);
    this.#assigned.inc({ task: 'make_key' }, await tasks.assignKeys(clusters, agentsOf));
    if (nowMs >= this.#turnsAtMs) {
      this.#turnsAtMs = nowMs + turnsEveryMs;
      await rollouts.passOn(clusters, agentsOf);
    }
    const known = await changes.versionsOf(clusters);
    const lacking = inTurn(
      known.filter((cluster) => cluster.sealsMissing && this.isSealsTurn(cluster, nowMs)),
    );
    const sealsUntilMs = performance.now() + maxSealsMs;
    for (const { item: cluster } of lacking) {
      if (performance.now() > sealsUntilMs) break;
      const given = await tasks.assignSeals(cluster, agentsOf(cluster));
      this.#assigned.inc({ task: 'seal_key_for' }, given ?? 0);
      if (given === null) this.#nextSeals.delete(keyOf(cluster));
      else this.#nextSeals.set(keyOf(cluster), nowMs + (given > 0 ? everyMs : sealsEveryMs));
    }
    const current = lacking.length === 0 ? known : await changes.versionsOf(clusters);
    const left = current.filter((cluster) =>
      this.waiting.of(cluster).some(({ after }) => after !== cluster.version),
    );
    const respond = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop())
        await states.respond(next, next.version);
    };
    await Promise.all(Array.from({ length: concurrency }, respond));
    this.endDeleted(clusters, current);
  }

  private isSealsTurn(cluster: KnownCluster, nowMs: number): boolean {
    return nowMs >= (this.#nextSeals.get(keyOf(cluster)) ?? 0);
  }

  private endDeleted(clusters: readonly ClusterKey[], known: readonly KnownCluster[]): void {
    if (known.length === clusters.length) return;
    const existing = new Set(known.map(keyOf));
    for (const cluster of clusters)
      if (!existing.has(keyOf(cluster)))
        for (const waiter of this.waiting.of(cluster)) waiter.end({ kind: 'removed' });
  }

  /** The first time an hour after the start, since all copies start together. */
  private async forget(nowMs: number): Promise<void> {
    this.#forgetAtMs ??= nowMs + forgetEveryMs * (0.5 + Math.random() / 2);
    if (nowMs < this.#forgetAtMs) return;
    this.#forgetAtMs = nowMs + forgetEveryMs;
    this.#nextSeals.clear();
    this.#isMigrated ||= await hasKeyRequests(this.database);
    if (this.#isMigrated) await this.work.tasks.forget();
  }
}

const keyOf = ({ accountId, name }: ClusterKey) => `${accountId}\n${name}`;
