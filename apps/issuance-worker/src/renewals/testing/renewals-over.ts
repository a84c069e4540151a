import {
  Issuances,
  Mails,
  Outbox,
  Purchases,
  Renewals,
  Transactions,
  UnpaidRenewals,
} from '@certwright/persistence';
import type { DataSource } from 'typeorm';

export function renewalsOver(database: DataSource): Renewals {
  const mails = new Mails(database);
  const purchases = new Purchases(database, new Issuances(database, new Outbox(database)), mails);
  return new Renewals(new Transactions(database), purchases, new UnpaidRenewals(mails));
}
