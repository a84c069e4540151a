import { Invoices } from './invoices.repository';
import type { Parts } from '../parts';
import { InvoicesController } from './invoices.controller';
import { RetrieveInvoices } from './retrieve-invoices.use-case';

export const invoices: Parts = {
  controllers: [InvoicesController],
  providers: [Invoices, RetrieveInvoices],
};
