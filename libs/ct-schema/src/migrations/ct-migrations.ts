import { Ct1795564800000 } from './1795564800000-ct';
import { CtFollowing1795565400000 } from './1795565400000-ct-following';
import { CtRevocation1795651200000 } from './1795651200000-ct-revocation';
import { CtEvidence1795996800000 } from './1795996800000-ct-evidence';
import { CtPartitionFunctions1796400000000 } from './1796400000000-ct-partition-functions';
import { CtMonitoring1796700000000 } from './1796700000000-ct-monitoring';
import { CtIssuerNames1796900000000 } from './1796900000000-ct-issuer-names';
import { CtShrinkPartition1797200000000 } from './1797200000000-ct-shrink-partition';
import { CtRevokedSerials1797300000000 } from './1797300000000-ct-revoked-serials';
import { CtRunFilters1797400000000 } from './1797400000000-ct-run-filters';
import { CtPostings1795651300000 } from './1795651300000-ct-postings';

/** Every migration of the `ct` database, oldest first. */
export const ctMigrations = [
  Ct1795564800000,
  CtFollowing1795565400000,
  CtRevocation1795651200000,
  CtPostings1795651300000,
  CtEvidence1795996800000,
  CtPartitionFunctions1796400000000,
  CtMonitoring1796700000000,
  CtIssuerNames1796900000000,
  CtShrinkPartition1797200000000,
  CtRevokedSerials1797300000000,
  CtRunFilters1797400000000,
];
