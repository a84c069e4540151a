import { KnownCoverage, KnownIssuers, PresentIssuances } from '@certwright/issuance-json';
import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module';
import { IndexModule } from '../ct-index/index.module';
import { IssuancesController } from './issuances.controller';

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
