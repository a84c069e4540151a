import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module';
import { IndexModule } from '../ct-index/index.module';
import { KnownIssuers } from '../issuers/known-issuers';
import { KnownCoverage } from '../revocations/known-coverage';
import { IssuancesController } from './issuances.controller';
import { PresentIssuances } from './present-issuances';

@Module({
  imports: [AccessModule, IndexModule],
  controllers: [IssuancesController],
  providers: [
    {
      provide: PresentIssuances,
      useFactory: () => new PresentIssuances(new KnownIssuers(), new KnownCoverage()),
    },
  ],
  exports: [PresentIssuances],
})
export class IssuancesModule {}
