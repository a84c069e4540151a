import { Module } from '@nestjs/common';
import { Balances } from './balances';
import { Ledger } from './ledger';

const providers = [Balances, Ledger];

/** Balances and the ledger of what was paid. */
@Module({ providers, exports: providers })
export class BillingModule {}
