import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** How an account is notified of certificates. Without a row: the defaults of `apps/monitoring`. */
@Entity('monitoring_settings')
@Check('monitoring_settings_alert_delay', `alert_delay_minutes BETWEEN 0 AND 60`)
@Check('monitoring_settings_digest_hour', `digest_hour_utc BETWEEN 0 AND 23`)
@Check(
  'monitoring_settings_mail',
  `certificate_mail IN ('at_once', 'digest', 'off') AND endpoint_mail IN ('at_once', 'digest', 'off')`,
)
@Check('monitoring_settings_heartbeat', `heartbeat IN ('weekly', 'off')`)
export class MonitoringSettingsEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @Column('text', {
    array: true,
    name: 'authorized_cas',
    comment: 'issuer domain names of CAA records, sorted',
  })
  authorizedCas!: string[];

  @Column('integer', { name: 'alert_delay_minutes' })
  alertDelayMinutes!: number;

  @Column('text', { name: 'certificate_mail' })
  certificateMail!: string;

  @Column('text', { name: 'endpoint_mail' })
  endpointMail!: string;

  @Column('integer', { name: 'digest_hour_utc' })
  digestHourUtc!: number;

  @Column('text')
  heartbeat!: string;
}
