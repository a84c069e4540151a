import type { DataSource } from 'typeorm';
import { Mails } from '../../mail/mails';
import { purchasesOver } from '../../purchases/testing/purchase-fixture';
import { Transactions } from '../../transactions/transactions';
import { Renewals } from '../renewals';
import { UnpaidRenewals } from '../unpaid-renewals';

export function renewalsOver(database: DataSource): Renewals {
  return new Renewals(
    new Transactions(database),
    purchasesOver(database),
    new UnpaidRenewals(new Mails(database)),
  );
}
