import type { InstallationState } from '@certwright/agent-contract';
import type { ServedCertificate } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { isAgentLive, offlineAdvice } from './cluster-agents';

/** One place of a host at which the current certificate of a plan is to be installed. */
export interface Installation {
  readonly planId: string;
  readonly agentId: string;
  /** Name of the host, as its agent reports it. */
  readonly host: string;
  /** Name of the place in the configuration of the host. */
  readonly point: string;
  readonly state: InstallationState;
  /** SHA-256 over the DER certificate that is installed; null: none. */
  readonly certificateSha256: Buffer | null;
  readonly served: readonly ServedCertificate[];
  readonly since: Date;
  /** What is wrong and what to do; null: nothing. */
  readonly problem: string | null;
  /** The host presents the current certificate, or has it installed where nothing is probed. */
  readonly isServed: boolean;
  readonly isOnline: boolean;
}

/** As the agent reported it. Tables: `installation`, `agent`, `current` (the certificate) and `rollout`, both may be absent. */
interface Row extends Installation {
  /** An older certificate than the current one is installed. */
  readonly isOutdated: boolean;
  /** Another host installs the current certificate first. */
  readonly isBehindFirst: boolean;
  readonly isStopped: boolean;
  /** The host that installs first. */
  readonly firstHost: string | null;
}

/** SQL: the host presents the current certificate, or has it installed where nothing is probed. */
const isServed = `coalesce(
  installation.state IN ('serving', 'installed') AND installation.certificate_sha256 = current.sha256, false)`;

/** How long an installation must be without the current certificate before its account is notified, besides the grace period. */
const minUnservedMinutes = 30;

/**
 * SQL: a live host of `rollout` does not serve the certificate. A host that has just come back installs first.
 *
 * @param graceS parameter with the grace period in seconds
 */
export const hasUnservedHost = (graceS: string): string => `EXISTS (
  SELECT 1 FROM installation JOIN agent ON agent.id = installation.agent_id
  WHERE installation.plan_id = rollout.plan_id AND ${isAgentLive('agent')} AND NOT ${isServed}
    AND installation.state <> 'released'
    AND installation.since < now() - least(make_interval(secs => ${graceS}), interval '${minUnservedMinutes} minutes'))`;

const readStatement = `
  SELECT installation.plan_id AS "planId", installation.agent_id AS "agentId", agent.name AS host, installation.point,
    installation.state, installation.certificate_sha256 AS "certificateSha256", installation.served,
    installation.since, installation.problem, ${isServed} AS "isServed", ${isAgentLive('agent')} AS "isOnline",
    coalesce(installation.certificate_sha256 <> current.sha256, false) AS "isOutdated",
    coalesce(rollout.stopped_at IS NOT NULL, false) AS "isStopped",
    coalesce(rollout.first_agent <> agent.id AND rollout.served_at IS NULL AND rollout.stopped_at IS NULL, false)
      AS "isBehindFirst",
    first.name AS "firstHost"
  FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (plan_id, number)
  JOIN installation ON installation.plan_id = wanted.plan_id
  JOIN agent ON agent.id = installation.agent_id AND agent.removed_at IS NULL
  LEFT JOIN certificate AS current ON current.plan_id = installation.plan_id AND current.is_current
  LEFT JOIN rollout ON rollout.plan_id = installation.plan_id AND rollout.certificate_sha256 = current.sha256
  LEFT JOIN agent AS first ON first.id = rollout.first_agent
  ORDER BY number, agent.name, agent.id, point LIMIT $2`;

/** Whether the migration "managed-orders" has run. */
export async function hasInstallations(reader: Pick<DataSource, 'query'>): Promise<boolean> {
  const [row] = await reader.query<[{ exists: boolean }]>(
    `SELECT to_regclass('installation') IS NOT NULL AS exists`,
  );
  return row.exists;
}

/** What agents report about the certificates of plans. */
@Injectable()
export class Installations {
  constructor(private readonly database: DataSource) {}

  /**
   * Of agents that are not removed, in the order of the plans and by host.
   *
   * @param reader the open transaction, if any: waiting for a second connection could be a deadlock
   */
  async ofPlans(
    planIds: readonly string[],
    limit: number,
    reader: Pick<DataSource, 'query'> = this.database,
  ): Promise<readonly Installation[]> {
    if (planIds.length === 0 || !(await hasInstallations(reader))) return [];
    const rows: Row[] = await reader.query(readStatement, [planIds, limit]);
    return rows.map(shown);
  }
}

/** An older certificate that is served is not what the state is about: the current one waits. */
function shown(row: Row): Installation {
  const isDone = row.state === 'serving' || row.state === 'installed';
  const state = isDone && row.isOutdated ? (isHeld(row) ? 'held' : 'waiting') : row.state;
  return { ...row, state, problem: problemOf(row, state) };
}

const isHeld = ({ isBehindFirst, isStopped }: Row): boolean => isBehindFirst || isStopped;

function problemOf(row: Row, state: InstallationState): string | null {
  if (row.isServed || state === 'released') return row.problem;
  const reported = row.problem ?? adviceOf(row, state);
  return row.isOnline ? reported : offlineAdvice(reported);
}

/** For agents that report no text. */
function adviceOf({ isStopped, firstHost }: Row, state: InstallationState): string | null {
  switch (state) {
    case 'no_key':
      return 'The host does not have the key of the certificate. Another host that has the key seals it for this one as soon as it is online. If no host has the key any more, rekey the cluster.';
    case 'held':
      return isStopped
        ? 'The roll-out stopped, because two hosts could not install the certificate. Correct the hosts whose state is rolled_back or failed; then it continues. An unchanged POST of the order starts it again.'
        : firstHost === null
          ? null
          : `The host ${firstHost} installs the certificate first; this one follows when it is served there.`;
    case 'rolled_back':
      return 'The service did not present the certificate after its reload, so the previous certificate was restored. Read the log of certwright-agent and of the service on the host; the agent tries again by itself.';
    case 'failed':
      return 'The certificate could not be installed. Read the log of certwright-agent on the host; the agent tries again by itself.';
    default:
      return null;
  }
}
