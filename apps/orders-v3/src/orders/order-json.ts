import type { KeyType } from '@certwright/issuance';
import type { StoredCertificate } from '@certwright/ordering';
import { Inject, Injectable } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { OrdersConfig } from '../config';
import { Addresses } from '../wire/addresses';
import { certificateJson, CertificateSchema } from '../wire/certificate-json';
import type { OrderExpansion } from '../wire/expansion';
import { InstallationSchema, type OrderInstallations } from '../installations/installation-json';
import type { AwaitedKey } from './awaited-keys';
import { type ApprovalPlaces, type IssuanceContext, issuanceJson, IssuanceSchema } from './issuance-json';
import { orderProducts, type StoredOrder } from './order';
import { documentedDnsNames } from './order-members';

/** An order in a response. A member that is not expanded is absent, not null. */
export class OrderSchema {
  @ApiProperty({ example: 'example.com' })
  name: string;

  @ApiProperty(documentedDnsNames)
  dns_names: readonly string[];

  @ApiProperty({ type: 'object', additionalProperties: { type: 'string', format: 'email' } })
  approver_emails: Readonly<Record<string, string>>;

  @ApiProperty({ type: String, nullable: true })
  cluster: string | null;

  @ApiProperty()
  auto_renew: boolean;

  @ApiProperty()
  muted: boolean;

  @ApiProperty()
  paused: boolean;

  @ApiProperty({ enum: [...orderProducts] })
  product: string;

  @ApiProperty({ enum: ['rsa', 'ecdsa'] })
  key_type: KeyType;

  @ApiProperty({
    type: 'integer',
    minimum: 1,
    description: 'Grows with every effective modification; the entity tag of the order.',
  })
  revision: number;

  @ApiProperty({
    format: 'uri',
    description: 'Public address of the current certificate and its chain in PEM; stable.',
  })
  current_cert_download: string;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'SHA-256 over the DER SubjectPublicKeyInfo of the CSR, lower-case hex; null without one.',
  })
  pubkey_sha256: string | null;

  @ApiPropertyOptional({ type: String, format: 'byte', nullable: true, description: 'Expandable.' })
  csr?: string | null;

  @ApiPropertyOptional({
    type: CertificateSchema,
    nullable: true,
    description: 'Expandable, with current_cert.leaf, .chain and .root in it.',
  })
  current_cert?: CertificateSchema | null;

  @ApiPropertyOptional({ type: IssuanceSchema, description: 'Expandable: what happens now.' })
  issuance?: IssuanceSchema;

  @ApiPropertyOptional({
    type: [InstallationSchema],
    nullable: true,
    description:
      'Expandable: where the hosts of the cluster have installed the certificate, and what they present. Empty while no host is configured to install it. Null: too large for this response; retrieve the order alone.',
  })
  installations?: OrderInstallations;
}

/** Data for the expanded members. */
export interface ExpandedContext {
  readonly currentCert: StoredCertificate | null;
  /** Null unless `issuance` is expanded. */
  readonly issuance: IssuanceContext | null;
  /** Null unless `installations` is expanded, or when they are too large. */
  readonly installations: OrderInstallations;
  /** Null also unless `issuance` is expanded. */
  readonly awaitedKey: AwaitedKey | null;
  readonly now: Date;
}

/** The addresses that an order refers to. */
@Injectable()
export class OrderLinks {
  readonly approvals: ApprovalPlaces;

  constructor(
    readonly addresses: Addresses,
    @Inject(OrdersConfig) config: Pick<OrdersConfig, 'APPROVAL_ZONE' | 'APPROVAL_URL'>,
  ) {
    this.approvals = { approvalZone: config.APPROVAL_ZONE, approvalUrl: config.APPROVAL_URL };
  }
}

export function orderJson(
  order: StoredOrder,
  expansion: OrderExpansion,
  { currentCert, issuance, awaitedKey, installations, now }: ExpandedContext,
  { addresses, approvals }: OrderLinks,
): OrderSchema {
  const { csr } = order;
  return {
    name: order.name,
    dns_names: order.dnsNames,
    approver_emails: order.approverEmails,
    cluster: order.cluster,
    auto_renew: order.autoRenew,
    muted: order.muted,
    paused: order.paused,
    product: order.product,
    key_type: order.keyType,
    revision: order.revision,
    current_cert_download: addresses.download(order.downloadToken),
    pubkey_sha256: csr && Buffer.from(csr.spkiSha256).toString('hex'),
    csr: expansion.csr ? csr && Buffer.from(csr.der).toString('base64') : undefined,
    current_cert: expansion.currentCert
      ? currentCert && certificateJson(currentCert, expansion.currentCert, now)
      : undefined,
    installations: expansion.installations ? installations : undefined,
    issuance: issuance ? issuanceJson(order, { ...issuance, awaitedKey }, approvals) : undefined,
  };
}
