/** Expanded members of an issuer. */
export interface IssuerExpansion {
  website: boolean;
  caaDomains: boolean;
  operator: boolean;
  pubkeyDer: boolean;
  nameDer: boolean;
}

/** Expanded members of an issuance. */
export interface IssuanceExpansion {
  dnsNames: boolean;
  pubkeyDer: boolean;
  pubkey: boolean;
  /** Null: `issuer` is omitted. */
  issuer: IssuerExpansion | null;
  revocation: boolean;
  problemReporting: boolean;
  certDer: boolean;
  cert: boolean;
}

type Expand = (expansion: IssuanceExpansion) => void;

function issuerOf(expansion: IssuanceExpansion): IssuerExpansion {
  return (expansion.issuer ??= {
    website: false,
    caaDomains: false,
    operator: false,
    pubkeyDer: false,
    nameDer: false,
  });
}

const issuer: Expand = (expansion) => void issuerOf(expansion);
const ofIssuer =
  (member: keyof IssuerExpansion): Expand =>
  (expansion) =>
    void (issuerOf(expansion)[member] = true);
const own =
  (member: Exclude<keyof IssuanceExpansion, 'issuer'>): Expand =>
  (expansion) =>
    void (expansion[member] = true);

/** Every valid name. A nested one also expands its parent with the base fields. */
const names: ReadonlyMap<string, Expand> = new Map([
  ['dns_names', own('dnsNames')],
  ['pubkey_der', own('pubkeyDer')],
  ['pubkey', own('pubkey')],
  ['pubkey.type', own('pubkey')],
  ['pubkey.bit_length', own('pubkey')],
  ['pubkey.curve', own('pubkey')],
  ['issuer', issuer],
  ['issuer.friendly_name', issuer],
  ['issuer.pubkey_sha256', issuer],
  ['issuer.name', issuer],
  ['issuer.website', ofIssuer('website')],
  ['issuer.caa_domains', ofIssuer('caaDomains')],
  ['issuer.operator', ofIssuer('operator')],
  ['issuer.operator.name', ofIssuer('operator')],
  ['issuer.operator.website', ofIssuer('operator')],
  ['issuer.pubkey_der', ofIssuer('pubkeyDer')],
  ['issuer.name_der', ofIssuer('nameDer')],
  ['revocation', own('revocation')],
  ['revocation.time', own('revocation')],
  ['revocation.reason', own('revocation')],
  ['revocation.checked_at', own('revocation')],
  ['problem_reporting', own('problemReporting')],
  ['cert_der', own('certDer')],
  ['cert', own('cert')],
  ['cert.type', own('cert')],
  ['cert.sha256', own('cert')],
  ['cert.data', own('cert')],
]);

/** The valid names in `expand`, each once: for the link to the next page. */
export function expandedNames(expand: unknown): readonly string[] {
  const values: readonly unknown[] = Array.isArray(expand) ? expand : [expand];
  return [...new Set(values)].filter((name): name is string => typeof name === 'string' && names.has(name));
}

/** @param expanded see `expandedNames` */
export function issuanceExpansion(expanded: readonly string[]): IssuanceExpansion {
  const expansion: IssuanceExpansion = {
    dnsNames: false,
    pubkeyDer: false,
    pubkey: false,
    issuer: null,
    revocation: false,
    problemReporting: false,
    certDer: false,
    cert: false,
  };
  for (const name of expanded) names.get(name)?.(expansion);
  return expansion;
}
