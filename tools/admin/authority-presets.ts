import type { CaLimits } from '@certwright/core-schema';
import type { NewCertificateAuthority } from '../../apps/issuance-worker/src/certificate-authorities/certificate-authorities';

const hourS = 3_600;
const dayS = 24 * hourS;

/** Published limits of CAs, by the value of --limits. */
export const limitPresets: Readonly<Record<string, CaLimits>> = {
  none: {},
  /** https://letsencrypt.org/docs/rate-limits/, as of November 2026; tokens refill at the rate count / perS. */
  'lets-encrypt': {
    newOrders: { count: 300, perS: 3 * hourS },
    perRegisteredDomain: { count: 50, perS: 7 * dayS },
    perNameSet: { count: 5, perS: 7 * dayS },
    failedAuthorizations: { count: 5, perS: hourS },
    replacementsExempt: true,
    maxDnsNames: 100,
    profileLimits: { tlsserver: { maxDnsNames: 25 }, shortlived: { maxDnsNames: 25 } },
  },
};

type Preset = Omit<NewCertificateAuthority, 'name'>;

/** CAs by the value of --preset. */
export const authorityPresets: Readonly<Record<string, Preset>> = {
  letsencrypt: {
    directoryUrl: 'https://acme-v02.api.letsencrypt.org/directory',
    caaDomains: ['letsencrypt.org'],
    limits: limitPresets['lets-encrypt'],
  },
  /** No client trusts its roots, so --trusted-root is needed. Its own limits are much higher. */
  'letsencrypt-staging': {
    directoryUrl: 'https://acme-staging-v02.api.letsencrypt.org/directory',
    caaDomains: ['letsencrypt.org'],
    limits: limitPresets['lets-encrypt'],
  },
};
