import { Module } from '@nestjs/common';
import { AcmeOrders } from './acme/acme-orders';
import { CaIssuers } from './built-in/ca-issuers';
import { CaSignings } from './built-in/ca-signings';
import { RevocationLists } from './built-in/revocation-lists';
import { RenewalInfos } from './renewal-info/renewal-infos';
import { CaAccounts } from './ca-accounts';
import { CertificateAuthorities } from './certificate-authorities';
import { CaLimitBuckets } from '../ca-limits/ca-limit-buckets';

const providers = [
  RenewalInfos,
  AcmeOrders,
  CaIssuers,
  CaSignings,
  RevocationLists,
  CaAccounts,
  CertificateAuthorities,
  CaLimitBuckets,
];

/** CAs, our accounts and orders there, and the signing records of the built-in CA. */
@Module({ providers, exports: providers })
export class CertificateAuthoritiesModule {}
