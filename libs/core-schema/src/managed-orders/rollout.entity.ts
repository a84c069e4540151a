import type { InstallationState } from '@certwright/agent-contract';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { ClusterEntity } from '../accounts/cluster.entity';
import { PlanEntity } from '../plans/plan.entity';
import { AgentEntity } from './agent.entity';

/** What one address presented when the agent last connected to it. */
export interface ServedCertificate {
  readonly address: string;
  /** SHA-256 over the DER certificate, lower-case hex; null: none was presented. */
  readonly sha256: string | null;
  /** RFC 3339. */
  readonly checked_at: string;
}

/** One place of a host that an order's certificate is installed at, as its agent reports it. */
@Entity('installation')
@Check(
  'installation_state',
  `state IN ('waiting', 'no_key', 'held', 'installing', 'installed', 'serving', 'rolled_back', 'failed', 'released')`,
)
export class InstallationEntity {
  @ForeignKey(() => PlanEntity)
  @PrimaryColumn('bigint', { name: 'plan_id' })
  planId!: string;

  @Index('installation_agent')
  @ForeignKey(() => AgentEntity, { onDelete: 'CASCADE' })
  @PrimaryColumn('text', { name: 'agent_id', collation: 'C' })
  agentId!: string;

  @PrimaryColumn('text', {
    collation: 'C',
    comment: 'name of the place on the host, as its configuration has it',
  })
  point!: string;

  @Column('text')
  state!: InstallationState;

  @Column('bytea', {
    name: 'certificate_sha256',
    nullable: true,
    comment: 'SHA-256 over the DER certificate that is installed; null: none',
  })
  certificateSha256!: Buffer | null;

  @Column('jsonb', {
    default: [],
    comment: 'what each address presented: [{ address, sha256, checked_at }]',
  })
  served!: ServedCertificate[];

  @Column('timestamptz')
  since!: Date;

  @Column('text', { nullable: true, comment: 'as the agent reported it' })
  problem!: string | null;

  @Column('timestamptz', { name: 'updated_at', default: () => 'now()' })
  updatedAt!: Date;
}

/** How the current certificate of a plan reaches the hosts of its cluster. */
@Entity('rollout')
@Check('rollout_first', `(first_agent IS NULL) = (first_since IS NULL)`)
@Check('rollout_end', `served_at IS NULL OR stopped_at IS NULL`)
@Index('rollout_waiting', ['firstSince'], { where: 'served_at IS NULL AND stopped_at IS NULL' })
@Index('rollout_open', ['begunAt'], { where: 'noticed_at IS NULL' })
@Index('rollout_stopped', ['stoppedAt'], { where: 'stopped_at IS NOT NULL AND stop_noticed_at IS NULL' })
export class RolloutEntity {
  @ForeignKey(() => PlanEntity)
  @PrimaryColumn('bigint', { name: 'plan_id' })
  planId!: string;

  @Column('bytea', {
    name: 'certificate_sha256',
    comment: 'SHA-256 over the DER certificate that is rolled out',
  })
  certificateSha256!: Buffer;

  @Column('timestamptz', { name: 'begun_at', default: () => 'now()' })
  begunAt!: Date;

  @Column({
    type: 'text',
    name: 'first_agent',
    nullable: true,
    collation: 'C',
    comment: 'the only one that installs until it serves; null: none yet',
  })
  firstAgent!: string | null;

  @Column('timestamptz', { name: 'first_since', nullable: true })
  firstSince!: Date | null;

  @Column('integer', { default: 0, comment: 'how often another agent became the first' })
  turns!: number;

  @Column('text', { array: true, default: [], comment: 'agents that rolled it back or failed' })
  broken!: string[];

  @Column('timestamptz', {
    name: 'served_at',
    nullable: true,
    comment: 'when the first agent served it: all agents install',
  })
  servedAt!: Date | null;

  @Column('timestamptz', {
    name: 'stopped_at',
    nullable: true,
    comment: 'when two agents were broken: no agent installs',
  })
  stoppedAt!: Date | null;

  @Column('timestamptz', {
    name: 'stop_noticed_at',
    nullable: true,
    comment: 'when the account was notified that it stopped',
  })
  stopNoticedAt!: Date | null;

  @Column('timestamptz', {
    name: 'noticed_at',
    nullable: true,
    comment: 'when the account was notified that a host does not serve it',
  })
  noticedAt!: Date | null;
}

/** An order that left a cluster: its agents stop maintaining it. */
@Entity('cluster_release')
@ForeignKey(() => ClusterEntity, ['accountId', 'cluster'], ['accountId', 'name'], { onDelete: 'CASCADE' })
@Index('cluster_release_version', ['accountId', 'cluster', 'version'])
@Index('cluster_release_age', ['releasedAt'])
export class ClusterReleaseEntity {
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @PrimaryColumn('text', { collation: 'C' })
  cluster!: string;

  @PrimaryColumn('text', {
    name: 'order_name',
    collation: 'C',
    comment: 'of an order that left the cluster',
  })
  orderName!: string;

  @Column('bigint')
  version!: string;

  @Column('timestamptz', { name: 'released_at', default: () => 'now()' })
  releasedAt!: Date;
}
