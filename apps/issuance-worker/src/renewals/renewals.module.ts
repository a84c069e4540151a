import { Module } from '@nestjs/common';
import { DeliveryModule } from '@certwright/delivery';
import { OrderingModule } from '@certwright/ordering';
import { Renewals } from './renewals.repository';
import { UnpaidRenewals } from './unpaid-renewals';

const providers = [Renewals, UnpaidRenewals];

/** Replacements of certificates before they expire. */
@Module({ imports: [DeliveryModule, OrderingModule], providers, exports: providers })
export class RenewalsModule {}
