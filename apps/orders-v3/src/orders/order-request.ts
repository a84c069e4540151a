import type { KeyType } from '@certwright/issuance';
import { BooleanMember, EnumMember, Ignored, TextMember } from '@certwright/service';
import { ApiSchema } from '@nestjs/swagger';
import { defaultProduct, type Order, orderProducts } from './order';
import { ApproverEmails, ClusterName, CsrField, DnsNames, NameMember, type SentCsr } from './order-members';

/** The body of a POST. Each member is read by itself; the rules for several members are in `order-rules.ts`. */
@ApiSchema({ name: 'OrderRequestSchema' })
export class OrderRequest {
  @NameMember()
  name?: string;

  @DnsNames()
  dns_names?: readonly string[];

  @ApproverEmails()
  approver_emails?: Order['approverEmails'];

  @ClusterName()
  cluster?: string | null;

  @BooleanMember({
    default: true,
    description: 'A new certificate is issued before the current one expires.',
  })
  auto_renew?: boolean;

  @BooleanMember({ default: false, description: 'No expiration notices are sent.' })
  muted?: boolean;

  @BooleanMember({ default: false, description: 'No certificate is issued, whatever happens.' })
  paused?: boolean;

  @TextMember({ enum: [...orderProducts], default: defaultProduct })
  product?: string;

  @EnumMember(['rsa', 'ecdsa'], {
    description:
      'Defaults to the key type of the CSR, or to rsa without one. A change resets csr to null, unless one comes with it.',
  })
  key_type?: KeyType;

  @CsrField()
  csr?: SentCsr | null;

  @Ignored()
  revision?: unknown;

  @Ignored()
  current_cert?: unknown;

  @Ignored()
  current_cert_download?: unknown;

  @Ignored()
  pubkey_sha256?: unknown;

  @Ignored()
  issuance?: unknown;

  @Ignored()
  installations?: unknown;
}
