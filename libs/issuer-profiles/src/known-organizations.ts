/** What is said of everyone who has an organization in their name. Null is unknown. */
export interface KnownOrganization {
  /** As in the names of issuers. */
  readonly organizations: readonly string[];
  readonly friendlyName: string;
  readonly website: string;
  readonly caaDomains: readonly string[] | null;
  readonly operatorName: string;
  readonly operatorWebsite: string | null;
  readonly problemReporting: string | null;
}

/** The day on which the facts below were put together. */
export const knownOrganizationsAsOf = '2025-06-30';

export const knownOrganizationsSource = 'included with Certwright';

/** Larger public CAs, from their certification practice statements. CCADB's reports say more, and of every key. */
export const knownOrganizations: readonly KnownOrganization[] = [
  {
    organizations: ["Let's Encrypt", 'Internet Security Research Group', 'ISRG'],
    friendlyName: "Let's Encrypt",
    website: 'https://letsencrypt.org/',
    caaDomains: ['letsencrypt.org'],
    ...operator('Internet Security Research Group', 'https://www.abetterinternet.org/'),
    problemReporting: 'cert-prob-reports@letsencrypt.org',
  },
  {
    organizations: ['DigiCert Inc', 'DigiCert, Inc.'],
    friendlyName: 'DigiCert',
    website: 'https://www.digicert.com/',
    caaDomains: [
      'digicert.com',
      'www.digicert.com',
      'digicert.ne.jp',
      'cybertrust.ne.jp',
      'symantec.com',
      'thawte.com',
      'geotrust.com',
      'rapidssl.com',
      'digitalcertvalidation.com',
    ],
    ...operator('DigiCert, Inc.', 'https://www.digicert.com/'),
    problemReporting: 'revoke@digicert.com',
  },
  {
    organizations: ['Sectigo Limited', 'COMODO CA Limited', 'The USERTRUST Network'],
    friendlyName: 'Sectigo',
    website: 'https://www.sectigo.com/',
    caaDomains: ['sectigo.com', 'comodo.com', 'comodoca.com', 'usertrust.com', 'trust-provider.com'],
    ...operator('Sectigo Limited', 'https://www.sectigo.com/'),
    problemReporting: 'sslabuse@sectigo.com',
  },
  {
    organizations: ['ZeroSSL', 'ZeroSSL GmbH'],
    friendlyName: 'ZeroSSL',
    website: 'https://zerossl.com/',
    caaDomains: ['sectigo.com', 'comodo.com', 'comodoca.com', 'usertrust.com', 'trust-provider.com'],
    ...operator('Sectigo Limited', 'https://www.sectigo.com/'),
    problemReporting: 'sslabuse@sectigo.com',
  },
  {
    organizations: ['Google Trust Services', 'Google Trust Services LLC'],
    friendlyName: 'Google Trust Services',
    website: 'https://pki.goog/',
    caaDomains: ['pki.goog'],
    ...operator('Google Trust Services LLC', 'https://pki.goog/'),
    problemReporting: 'contact@pki.goog',
  },
  {
    organizations: ['Amazon'],
    friendlyName: 'Amazon Trust Services',
    website: 'https://www.amazontrust.com/',
    caaDomains: ['amazon.com', 'amazontrust.com', 'awstrust.com', 'amazonaws.com'],
    ...operator('Amazon Trust Services', 'https://www.amazontrust.com/'),
    problemReporting: null,
  },
  {
    organizations: ['GlobalSign nv-sa'],
    friendlyName: 'GlobalSign',
    website: 'https://www.globalsign.com/',
    caaDomains: ['globalsign.com'],
    ...operator('GlobalSign nv-sa', 'https://www.globalsign.com/'),
    problemReporting: 'report-abuse@globalsign.com',
  },
  {
    organizations: ['GoDaddy.com, Inc.', 'GoDaddy.com, LLC', 'Starfield Technologies, Inc.'],
    friendlyName: 'GoDaddy',
    website: 'https://www.godaddy.com/',
    caaDomains: ['godaddy.com', 'starfieldtech.com'],
    ...operator('GoDaddy.com, LLC', 'https://www.godaddy.com/'),
    problemReporting: 'practices@starfieldtech.com',
  },
  {
    organizations: ['Microsoft Corporation'],
    friendlyName: 'Microsoft',
    website: 'https://www.microsoft.com/',
    caaDomains: ['microsoft.com'],
    ...operator('Microsoft Corporation', 'https://www.microsoft.com/'),
    problemReporting: 'centralpki@microsoft.com',
  },
  {
    organizations: ['Apple Inc.'],
    friendlyName: 'Apple',
    website: 'https://www.apple.com/',
    caaDomains: ['pki.apple.com'],
    ...operator('Apple Inc.', 'https://www.apple.com/'),
    problemReporting: 'contact_pki@apple.com',
  },
  byItsOwnName('Entrust', 'https://www.entrust.com/', ['entrust.net', 'affirmtrust.com'], ['Entrust, Inc.']),
  byItsOwnName('SSL.com', 'https://www.ssl.com/', ['ssl.com'], ['SSL Corporation', 'SSL Corp']),
  byItsOwnName(
    'Buypass',
    'https://www.buypass.com/',
    ['buypass.com', 'buypass.no'],
    ['Buypass AS-983163327', 'Buypass AS'],
  ),
  byItsOwnName(
    'Actalis',
    'https://www.actalis.com/',
    ['actalis.it'],
    ['Actalis S.p.A.', 'Actalis S.p.A./03358520967'],
  ),
  byItsOwnName(
    'Certum',
    'https://www.certum.eu/',
    ['certum.pl', 'certum.eu'],
    ['Asseco Data Systems S.A.', 'Unizeto Technologies S.A.'],
  ),
  byItsOwnName('SwissSign', 'https://www.swisssign.com/', ['swisssign.com'], ['SwissSign AG']),
  byItsOwnName(
    'HARICA',
    'https://www.harica.gr/',
    ['harica.gr'],
    ['Hellenic Academic and Research Institutions CA'],
  ),
  byItsOwnName('D-Trust', 'https://www.d-trust.net/', ['d-trust.net', 'dtrust.de'], ['D-Trust GmbH']),
  byItsOwnName(
    'Telekom Security',
    'https://www.telesec.de/',
    ['telesec.de'],
    ['Deutsche Telekom Security GmbH', 'T-Systems International GmbH'],
  ),
  byItsOwnName('IdenTrust', 'https://www.identrust.com/', ['identrust.com'], ['IdenTrust']),
  byItsOwnName('Certigna', 'https://www.certigna.com/', ['certigna.fr'], ['DHIMYOTIS', 'Certigna']),
  byItsOwnName(
    'SECOM Trust Systems',
    'https://www.secomtrust.net/',
    ['secomtrust.net'],
    ['SECOM Trust Systems CO.,LTD.', 'SECOM Trust Systems Co., Ltd.'],
  ),
  byItsOwnName('TWCA', 'https://www.twca.com.tw/', ['twca.com.tw'], ['TAIWAN-CA']),
  byItsOwnName('Disig', 'https://www.disig.sk/', ['disig.sk'], ['Disig a.s.']),
];

/** A CA whose operator has the first of the organizations in its own name. */
function byItsOwnName(
  friendlyName: string,
  website: string,
  caaDomains: readonly string[],
  organizations: readonly [string, ...string[]],
): KnownOrganization {
  const ofOperator = operator(organizations[0], website);
  return { organizations, friendlyName, website, caaDomains, ...ofOperator, problemReporting: null };
}

function operator(operatorName: string, operatorWebsite: string) {
  return { operatorName, operatorWebsite };
}
