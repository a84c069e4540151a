import { attributeText, organizationType, readDistinguishedName } from '@certwright/ct';
import type { EntityManager } from 'typeorm';

/** An issuer, and what is known of it beside its certificates. Null is unknown. */
export interface IssuerView {
  readonly id: number;
  readonly spkiSha256: Buffer;
  readonly nameDer: Buffer;
  readonly spkiDer: Buffer | null;
  readonly friendlyName: string | null;
  readonly website: string | null;
  readonly caaDomains: readonly string[] | null;
  readonly operator: { readonly name: string; readonly website: string | null } | null;
  readonly problemReporting: string | null;
}

interface Profile {
  readonly friendlyName: string | null;
  readonly website: string | null;
  readonly caaDomains: readonly string[] | null;
  readonly operatorName: string | null;
  readonly operatorWebsite: string | null;
  readonly problemReporting: string | null;
}

type Row = Profile & Pick<IssuerView, 'id' | 'spkiSha256' | 'nameDer' | 'spkiDer'>;

const profileColumns = `friendly_name AS "friendlyName", website, caa_domains AS "caaDomains", operator_name AS "operatorName",
  operator_website AS "operatorWebsite", problem_reporting AS "problemReporting"`;

/** Issuers that are not there are left out. */
export async function issuerViews(
  reader: Pick<EntityManager, 'query'>,
  ids: readonly number[],
): Promise<ReadonlyMap<number, IssuerView>> {
  if (ids.length === 0) return new Map();
  const rows = await reader.query<Row[]>(
    `SELECT issuer.id, issuer.spki_sha256 AS "spkiSha256", name_der AS "nameDer", spki_der AS "spkiDer", ${profileColumns}
     FROM ct_issuer AS issuer LEFT JOIN ct_issuer_profile AS profile USING (spki_sha256)
     WHERE issuer.id = ANY ($1::int[])`,
    [ids],
  );
  const organizations = new Map(rows.map(({ id, nameDer }) => [id, organizationOf(nameDer)]));
  const ofOrganizations = await reader.query<(Profile & { readonly organization: string })[]>(
    `SELECT organization, ${profileColumns} FROM ct_issuer_profile WHERE organization = ANY ($1::text[])`,
    [[...new Set(organizations.values())].filter((each) => each !== null)],
  );
  const byOrganization = new Map(ofOrganizations.map((each) => [each.organization, each]));
  return new Map(
    rows.map((row) => [row.id, viewOf(row, byOrganization.get(organizations.get(row.id) ?? '') ?? null)]),
  );
}

/** NUL is nothing that the database takes. */
function organizationOf(nameDer: Buffer): string | null {
  const levels = readDistinguishedName(nameDer);
  const text = levels === null ? null : attributeText(levels, organizationType);
  return text?.replaceAll('\u0000', '') ?? null;
}

/**
 * What is said of the key counts for more than what is said of an organization in a name, which is the CA's word alone; but for the
 * name to be shown, which is curated there.
 */
function viewOf(ofKey: Row, ofOrganization: Profile | null): IssuerView {
  const { id, spkiSha256, nameDer, spkiDer } = ofKey;
  return {
    ...{ id, spkiSha256, nameDer, spkiDer },
    friendlyName: ofOrganization?.friendlyName ?? ofKey.friendlyName,
    website: ofKey.website ?? ofOrganization?.website ?? null,
    caaDomains: ofKey.caaDomains ?? ofOrganization?.caaDomains ?? null,
    operator: operatorOf(ofKey, ofOrganization),
    problemReporting: ofKey.problemReporting ?? ofOrganization?.problemReporting ?? null,
  };
}

function operatorOf(ofKey: Profile, ofOrganization: Profile | null): IssuerView['operator'] {
  const name = ofKey.operatorName ?? ofOrganization?.operatorName ?? null;
  if (name === null) return null;
  const isTheSame = ofKey.operatorName === null || ofKey.operatorName === ofOrganization?.operatorName;
  return {
    name,
    website: ofKey.operatorWebsite ?? (isTheSame ? (ofOrganization?.operatorWebsite ?? null) : null),
  };
}
