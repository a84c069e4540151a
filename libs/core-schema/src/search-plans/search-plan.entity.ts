import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Limits of a subscription to the search of Certificate Transparency. */
@Entity('search_plan')
@Check('search_plan_name', `name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'`)
@Check('search_plan_rate', `queries_per_second BETWEEN 1 AND 100000 AND burst BETWEEN 1 AND 1000000`)
@Check('search_plan_time_limit', `time_limit_ms BETWEEN 100 AND 600000`)
export class SearchPlanEntity {
  @PrimaryColumn('text')
  name!: string;

  @Column('integer', { name: 'queries_per_second', comment: 'of all API keys of an account together' })
  queriesPerS!: number;

  @Column('integer', { comment: 'queries at once, after a pause' })
  burst!: number;

  @Column('integer', { name: 'time_limit_ms', comment: 'of one query, ms' })
  timeLimitMs!: number;

  @Column('boolean', { default: false, comment: 'whether the stream of all issuances may be read' })
  firehose!: boolean;

  /** True for exactly one plan. */
  @Index('search_plan_default', { unique: true, where: 'is_default' })
  @Column('boolean', {
    name: 'is_default',
    default: false,
    comment: 'the plan of every account without a subscription',
  })
  isDefault!: boolean;
}
