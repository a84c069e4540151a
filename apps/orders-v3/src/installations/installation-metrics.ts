import { agentState, hasInstallations, isAgentLive } from '@certwright/accounts';
import { installationStates } from '@certwright/agent-contract';
import { RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { DataSource } from 'typeorm';

/** Two statements that read whole tables are not repeated for each scrape. */
const reuseMs = 30_000;

interface Counted {
  readonly kind: string;
  readonly count: number;
}

interface WaitingKeys {
  readonly waiting: number;
  /** Of the oldest that no agent was selected for, seconds. */
  readonly age: number;
}

/** Every copy reads the same rows, so each reports the same values: take their max. */
@Injectable()
export class InstallationMetrics {
  constructor(database: DataSource, { metrics: { registry } }: RunningProcess) {
    const registers = [registry];
    // Before the migration "managed-orders" there is nothing to count.
    const rowsOf = <Row extends object>(statement: string) =>
      reused(async () => ((await hasInstallations(database)) ? await database.query<Row[]>(statement) : []));
    const agents = rowsOf<Counted>(agentsStatement);
    const installations = rowsOf<Counted>(installationsStatement);
    const keys = rowsOf<WaitingKeys>(keyRequestsStatement);
    new Gauge({
      name: 'certwright_agents',
      help: 'Agents that are members of clusters, by state',
      labelNames: ['state'],
      registers,
      async collect() {
        const counts = new Map((await agents()).map(({ kind, count }) => [kind, count]));
        for (const state of ['online', 'offline']) this.set({ state }, counts.get(state) ?? 0);
      },
    });
    new Gauge({
      name: 'certwright_installations',
      help: 'Places of hosts at which agents install certificates, by state as agents report it',
      labelNames: ['state'],
      registers,
      async collect() {
        const counts = new Map((await installations()).map(({ kind, count }) => [kind, count]));
        for (const state of installationStates) this.set({ state }, counts.get(state) ?? 0);
      },
    });
    new Gauge({
      name: 'certwright_key_requests_waiting',
      help: 'New keys that are due, in clusters with live agents',
      registers,
      async collect() {
        this.set((await keys())[0]?.waiting ?? 0);
      },
    });
    new Gauge({
      name: 'certwright_key_requests_age_seconds',
      help: 'How long the oldest of them that no agent was selected for has been due',
      registers,
      async collect() {
        this.set((await keys())[0]?.age ?? 0);
      },
    });
  }
}

/** A failure is not reused. */
function reused<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { readonly value: Promise<T>; readonly until: number } | undefined;
  return async () => {
    if (last === undefined || last.until < performance.now()) {
      const value = read();
      last = { value, until: performance.now() + reuseMs };
      value.catch(() => (last = undefined));
    }
    return await last.value;
  };
}

const agentsStatement = `
  SELECT ${agentState('agent')} AS kind, count(*)::int AS count FROM agent WHERE removed_at IS NULL GROUP BY 1`;

const installationsStatement = `SELECT state AS kind, count(*)::int AS count FROM installation GROUP BY 1`;

const keyRequestsStatement = `
  SELECT count(*)::int AS waiting,
    greatest(0, coalesce(extract(epoch FROM now() - min(due_at) FILTER (WHERE agent_id IS NULL)), 0))::float8 AS age
  FROM key_request AS request
  JOIN plan ON plan.id = request.plan_id AND NOT plan.paused AND plan.closed_at IS NULL
  JOIN order_v3 ON order_v3.plan_id = request.plan_id
  WHERE request.due_at <= now() AND EXISTS (
    SELECT 1 FROM agent
    WHERE agent.account_id = order_v3.account_id AND agent.cluster = order_v3.cluster AND ${isAgentLive('agent')})`;
