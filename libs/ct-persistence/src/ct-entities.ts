import { CtIssuerEntity } from './issuers/ct-issuer.entity';
import { CtLogEntity } from './logs/ct-log.entity';
import { CtOddEntryEntity } from './logs/ct-odd-entry.entity';

/** The tables of the `ct` database that are not partitioned; the others are known to `index/` alone, in SQL. */
export const ctEntities = [CtLogEntity, CtOddEntryEntity, CtIssuerEntity];
