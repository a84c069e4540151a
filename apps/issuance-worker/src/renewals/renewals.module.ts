import { DeliveryModule } from '@certwright/delivery';
import { OrderingModule } from '@certwright/ordering';
import { Module } from '@nestjs/common';
import { RenewalRound } from './renewal-round';
import { Renewals } from './renewals.repository';
import { UnpaidRenewals } from './unpaid-renewals';

/** Replacements of certificates before they expire. */
@Module({
  imports: [DeliveryModule, OrderingModule],
  providers: [RenewalRound, Renewals, UnpaidRenewals],
})
export class RenewalsModule {}
