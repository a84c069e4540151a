import { KnownIssuers } from '../issuers/known-issuers';
import type { Parts } from '../parts';
import { KnownCoverage } from '../revocations/known-coverage';
import { IssuancesController } from './issuances.controller';
import { PresentIssuances } from './present-issuances';

export const issuances: Parts = {
  controllers: [IssuancesController],
  providers: [
    {
      provide: PresentIssuances,
      useFactory: () => new PresentIssuances(new KnownIssuers(), new KnownCoverage()),
    },
  ],
};
