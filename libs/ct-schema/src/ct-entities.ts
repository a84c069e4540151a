import { CtIssuerProfileEntity } from './issuers/ct-issuer-profile.entity';
import { CtIssuerEntity } from './issuers/ct-issuer.entity';
import { CtLogEvidenceEntity } from './logs/ct-log-evidence.entity';
import { CtLogEntity } from './logs/ct-log.entity';
import { CtOddEntryEntity } from './logs/ct-odd-entry.entity';
import { CtCrlHostEntity } from './revocations/ct-crl-host.entity';
import { CtCrlEntity } from './revocations/ct-crl.entity';
import { CtRevocationEntity } from './revocations/ct-revocation.entity';

/** The tables of the `ct` database that are not partitioned; the others are known to `index/` alone, in SQL. */
export const ctEntities = [
  CtLogEntity,
  CtLogEvidenceEntity,
  CtOddEntryEntity,
  CtIssuerEntity,
  CtIssuerProfileEntity,
  CtCrlEntity,
  CtCrlHostEntity,
  CtRevocationEntity,
];
