import type { DataSource } from 'typeorm';
import { Mails } from '@certwright/delivery';
import { purchasesOver } from '@certwright/core-testing';
import { Transactions } from '@certwright/core-schema';
import { Renewals } from '../renewals.repository';
import { UnpaidRenewals } from '../unpaid-renewals';

export function renewalsOver(database: DataSource): Renewals {
  return new Renewals(
    new Transactions(database),
    purchasesOver(database),
    new UnpaidRenewals(new Mails(database)),
  );
}
