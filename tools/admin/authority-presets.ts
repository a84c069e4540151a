import type { CaLimits } from '@certwright/core-schema';
import type { NewCertificateAuthority } from '../../apps/issuance-worker/src/certificate-authorities/certificate-authorities';

const hourS = 3_600;
const dayS = 24 * hourS;

/** Limits that CAs publish, by the word that --limits takes. */
export const limitPresets: Readonly<Record<string, CaLimits>> = {
  none: {},
  /** https://letsencrypt.org/docs/rate-limits/, as of November 2026; a token comes back every so often, as here. */
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

/** CAs by the word that --preset takes. */
export const authorityPresets: Readonly<Record<string, Preset>> = {
  letsencrypt: {
    directoryUrl: 'https://acme-v02.api.letsencrypt.org/directory',
    caaDomains: ['letsencrypt.org'],
    limits: limitPresets['lets-encrypt'],
  },
  /** Its roots are trusted by nobody, so they have to be given: --trusted-root. Its own limits are far wider. */
  'letsencrypt-staging': {
    directoryUrl: 'https://acme-staging-v02.api.letsencrypt.org/directory',
    caaDomains: ['letsencrypt.org'],
    limits: limitPresets['lets-encrypt'],
  },
};
