import type { Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { defaultSettings, type MonitoringSettingsSchema } from './settings';

interface SettingsRow extends Omit<MonitoringSettingsSchema, 'mail'> {
  readonly certificate_mail: MonitoringSettingsSchema['mail']['certificates'];
  readonly endpoint_mail: MonitoringSettingsSchema['mail']['endpoints'];
}

@Injectable()
export class MonitoringSettings {
  constructor(private readonly database: DataSource) {}

  /** The defaults, unless the account has settings of its own. */
  async get(accountId: string, tx: Pick<Tx, 'query'> = this.database): Promise<MonitoringSettingsSchema> {
    const [row] = await tx.query<SettingsRow[]>(
      `SELECT authorized_cas, alert_delay_minutes, certificate_mail, endpoint_mail, digest_hour_utc, heartbeat
       FROM monitoring_settings WHERE account_id = $1`,
      [accountId],
    );
    if (row === undefined) return defaultSettings;
    const { certificate_mail, endpoint_mail, authorized_cas, alert_delay_minutes, ...rest } = row;
    const mail = { certificates: certificate_mail, endpoints: endpoint_mail };
    return { authorized_cas, alert_delay_minutes, mail, ...rest };
  }

  async store(tx: Tx, accountId: string, settings: MonitoringSettingsSchema): Promise<void> {
    const { authorized_cas, alert_delay_minutes, mail, digest_hour_utc, heartbeat } = settings;
    await tx.query(
      `INSERT INTO monitoring_settings (account_id, authorized_cas, alert_delay_minutes, certificate_mail, endpoint_mail,
         digest_hour_utc, heartbeat)
       VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (account_id) DO UPDATE
       SET authorized_cas = excluded.authorized_cas, alert_delay_minutes = excluded.alert_delay_minutes,
           certificate_mail = excluded.certificate_mail, endpoint_mail = excluded.endpoint_mail,
           digest_hour_utc = excluded.digest_hour_utc, heartbeat = excluded.heartbeat`,
      [
        accountId,
        authorized_cas,
        alert_delay_minutes,
        mail.certificates,
        mail.endpoints,
        digest_hour_utc,
        heartbeat,
      ],
    );
  }
}
