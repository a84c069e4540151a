import { Module } from '@nestjs/common';
import { AccountsModule } from '@certwright/accounts';
import { Invoices } from './invoices.repository';
import { InvoicesController } from './invoices.controller';
import { RetrieveInvoices } from './retrieve-invoices.use-case';

@Module({
  imports: [AccountsModule],
  controllers: [InvoicesController],
  providers: [Invoices, RetrieveInvoices],
})
export class InvoicesModule {}
