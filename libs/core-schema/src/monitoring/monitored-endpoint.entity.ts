import { type EndpointState, endpointStates, type TrackedFinding } from '@certwright/endpoint-checks';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** A host whose certificate is checked: a name found in certificates, or monitored by name. */
@Entity('monitored_endpoint')
@Check('monitored_endpoint_ports', `cardinality(ports) BETWEEN 1 AND 4`)
@Check('monitored_endpoint_state', `state IN (${endpointStates.map((state) => `'${state}'`).join(', ')})`)
@Index('monitored_endpoint_due', ['checkDueAt', 'accountId'])
@Index('monitored_endpoint_due_of_account', ['accountId', 'checkDueAt'])
@Index('monitored_endpoint_name', ['dnsName'])
@Index('monitored_endpoint_looked', ['lookedAt'])
@Index('monitored_endpoint_expiry', ['lastNotAfter'])
@Index('monitored_endpoint_bad', ['badSince'], { where: 'bad_since IS NOT NULL' })
@Index('monitored_endpoint_held', ['heldSince'], { where: 'held_since IS NOT NULL' })
export class MonitoredEndpointEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @PrimaryColumn('text', { name: 'dns_name', collation: 'C', comment: 'normal form, no wildcard' })
  dnsName!: string;

  @Column('boolean', { default: false })
  muted!: boolean;

  @Column('integer', { array: true, default: () => `'{443}'`, comment: 'ascending' })
  ports!: number[];

  @Column('timestamptz', { name: 'found_at', default: () => 'now()' })
  foundAt!: Date;

  @Column('timestamptz', {
    name: 'last_not_after',
    nullable: true,
    comment: 'latest expiry of its certificates; null: monitored by name, no certificate',
  })
  lastNotAfter!: Date | null;

  /** A new endpoint is checked within minutes, and not all new ones at once. */
  @Column('timestamptz', {
    name: 'check_due_at',
    default: () => `(now() + (random() * '00:05:00'))`,
  })
  checkDueAt!: Date;

  @Column('timestamptz', {
    name: 'looked_at',
    nullable: true,
    comment: 'the last check with a result; null: none yet',
  })
  lookedAt!: Date | null;

  @Column('text', { default: 'not_checked' })
  state!: EndpointState;

  @Column('timestamptz', { name: 'state_since', default: () => 'now()' })
  stateSince!: Date;

  @Column('timestamptz', {
    name: 'served_at',
    nullable: true,
    comment: 'the last check in which a server presented a certificate',
  })
  servedAt!: Date | null;

  @Column('timestamptz', {
    name: 'gone_since',
    nullable: true,
    comment: 'since when no server presents a certificate; null: one does, or it was not checked',
  })
  goneSince!: Date | null;

  @Column('jsonb', { default: () => `'[]'`, comment: 'TrackedFinding[] of libs/endpoint-checks' })
  findings!: readonly TrackedFinding[];

  @Column('jsonb', {
    default: () => `'[]'`,
    comment: 'what each address presented in the last check with a result',
  })
  served!: readonly object[];

  @Column('timestamptz', {
    name: 'bad_since',
    nullable: true,
    comment: 'when it turned bad after a check without findings; null: it has none, or was never without',
  })
  badSince!: Date | null;

  @Column('timestamptz', {
    name: 'held_since',
    nullable: true,
    comment:
      'since when a report about it is held back, because too many endpoints turned bad; null: none is',
  })
  heldSince!: Date | null;

  @Column('integer', {
    default: 0,
    comment: 'checks in a row without a result: no response by a prober, or a failed look-up',
  })
  attempts!: number;
}
