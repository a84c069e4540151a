import {
  attributeText,
  commonNameType,
  formatDistinguishedName,
  organizationType,
  readDistinguishedName,
} from '@certwright/ct';
import type { IssuerView } from '@certwright/issuer-profiles';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import type { IssuerExpansion } from './expansion';
import { hexDigest, orNull, text } from './schema-options';

/** An issuer, with its name parsed once. */
export interface Issuer extends IssuerView {
  readonly friendlyName: string;
  /** RFC 2253. */
  readonly name: string;
}

/** Name of an unknown issuer: an entry without a chain, whose issuer name is empty. */
const nameless = 'Unknown issuer';

export function issuerOf(view: IssuerView): Issuer {
  const name = formatDistinguishedName(view.nameDer);
  return { ...view, name, friendlyName: view.friendlyName ?? friendlyName(view.nameDer, name) };
}

/** Without a curated name: the issuer's own name. */
function friendlyName(nameDer: Buffer, name: string): string {
  const levels = readDistinguishedName(nameDer) ?? [];
  const own = attributeText(levels, organizationType) ?? attributeText(levels, commonNameType) ?? name;
  return own.trim() === '' ? nameless : own;
}

@ApiSchema({ name: 'Operator' })
class OperatorSchema {
  @ApiProperty({ description: 'Its name.' }) readonly name: string;
  @ApiProperty(orNull(text, 'Its website.')) readonly website: string | null;
}

@ApiSchema({ name: 'Issuer' })
export class IssuerSchema {
  @ApiProperty({ description: 'What people call it; may change.' }) readonly friendly_name: string;
  @ApiPropertyOptional(orNull(text, 'Expandable. Null: not known.')) readonly website?: string | null;
  @ApiPropertyOptional({
    type: [String],
    nullable: true,
    description: 'Expandable. Names that authorize it in a CAA record. Null: not known.',
  })
  readonly caa_domains?: readonly string[] | null;

  @ApiPropertyOptional({
    type: OperatorSchema,
    nullable: true,
    description: 'Expandable. The organization that controls its key. Null: not known.',
  })
  readonly operator?: OperatorSchema | null;

  @ApiProperty(
    hexDigest('Of the DER SubjectPublicKeyInfo.', '64 zeros when the log did not report the signer.'),
  )
  readonly pubkey_sha256: string;

  @ApiPropertyOptional({
    description: 'Expandable. Base64 of the DER SubjectPublicKeyInfo; empty where it is not known.',
  })
  readonly pubkey_der?: string;
  @ApiProperty({ description: 'Distinguished name, in the form of RFC 2253.' }) readonly name: string;
  @ApiPropertyOptional({ description: 'Expandable. Base64 of the DER distinguished name.' })
  readonly name_der?: string;
}

/** Without a chain from the log the key is unknown: its digest is then 64 zeros, and the key is empty. */
export function issuerJson(issuer: Issuer, expansion: IssuerExpansion): IssuerSchema {
  return {
    friendly_name: issuer.friendlyName,
    website: expansion.website ? issuer.website : undefined,
    caa_domains: expansion.caaDomains ? issuer.caaDomains : undefined,
    operator: expansion.operator ? issuer.operator : undefined,
    pubkey_sha256: issuer.spkiSha256.toString('hex'),
    pubkey_der: expansion.pubkeyDer ? (issuer.spkiDer?.toString('base64') ?? '') : undefined,
    name: issuer.name,
    name_der: expansion.nameDer ? issuer.nameDer.toString('base64') : undefined,
  };
}
