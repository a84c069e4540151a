import { Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { PlanEntity } from '../plans/plan.entity';
import { ApprovalRecordEntity } from './approval-record.entity';

/** Which plans a standing record serves: it is needed while one of them is open and still names it. */
@Entity('approval_record_use')
@Index('approval_record_use_plan', ['planId'])
export class ApprovalRecordUseEntity {
  @ForeignKey(() => ApprovalRecordEntity, { onDelete: 'CASCADE' })
  @PrimaryColumn('bigint', { name: 'record_id' })
  recordId!: string;

  @ForeignKey(() => PlanEntity)
  @PrimaryColumn('bigint', { name: 'plan_id' })
  planId!: string;
}
