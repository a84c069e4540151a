import {
  baseName,
  canHaveApprovalRecord,
  constructedApproverAddresses,
  isWildcard,
} from '@certwright/dns-names';
import { zoneFor } from '@certwright/issuance';
import { ApprovalRecords } from '@certwright/approvals';
import { Injectable } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { ApprovalStatuses } from '../cert-objects/approval-statuses';
import { CertObjectsRepository } from '../cert-objects/cert-objects.repository';
import { CertProducts } from '../cert-objects/cert-products';
import { ApiList } from '../wire/openapi/members';
import { productOf, type ProductQuery } from './product-query';

/** Whose plan uses a record does not matter here. */
const noPlan = '0';

@ApiSchema({ name: 'ApprovalByEmail' })
class ApprovalByEmailJson {
  @ApiProperty({ description: 'Whether email can approve the name.' }) available: boolean;
  @ApiList(String, 'Who may approve.') addresses: readonly string[];
}

@ApiSchema({ name: 'ApprovalByDns' })
class ApprovalByDnsJson {
  @ApiProperty({ description: 'Whether dns can approve the name.' }) available: boolean;
  @ApiProperty({ description: 'An integration of the account publishes it.' }) integrated: boolean;
}

@ApiSchema({ name: 'ApprovalByHttp' })
class ApprovalByHttpJson {
  @ApiProperty({ description: 'Whether http can approve the name.' }) available: boolean;
  @ApiProperty({ description: 'The rule of the web server was seen working.' }) integrated: boolean;
}

@ApiSchema({ name: 'ApprovalWays' })
export class ApprovalWaysJson {
  @ApiProperty() email: ApprovalByEmailJson;
  @ApiProperty() dns: ApprovalByDnsJson;
  @ApiProperty() http: ApprovalByHttpJson;
}

/** How a name can be approved, and what would happen without a person. */
@Injectable()
export class RetrieveApprovalMethods {
  constructor(
    private readonly products: CertProducts,
    private readonly objects: CertObjectsRepository,
    private readonly records: ApprovalRecords,
    private readonly statuses: ApprovalStatuses,
  ) {}

  /** @throws Refusal `product_unavailable` */
  async run(accountId: string, { type, cn }: ProductQuery): Promise<ApprovalWaysJson> {
    const product = productOf(await this.products.byType(), type);
    const byDns = canHaveApprovalRecord(cn);
    // Baseline Requirements 3.2.2.4.18 and .19: never a wildcard.
    const byHttp = product.httpApproval && !isWildcard(cn);
    return {
      email: {
        available: product.emailApproval,
        addresses: product.emailApproval ? constructedApproverAddresses(cn) : [],
      },
      dns: { available: byDns, integrated: byDns && (await this.isPublished(accountId, cn)) },
      http: { available: byHttp, integrated: byHttp && (await this.followsRule(accountId, cn)) },
    };
  }

  /** An integration of the account has the zone of the name, and works. */
  private async isPublished(accountId: string, cn: string): Promise<boolean> {
    const place = baseName(cn);
    const { zones } = await this.records.coverageOf(accountId, noPlan, [place]);
    return zoneFor(place, zones)?.ok === true;
  }

  /** The web server follows the account's rule now; without a result, the last one counts. */
  private async followsRule(accountId: string, cn: string): Promise<boolean> {
    const object = await this.objects.find(accountId, cn);
    const approval = { dnsName: cn, method: 'http', recordPlace: cn } as const;
    const planIds = object === null ? [] : [object.planId];
    return (await this.statuses.of({ accountId, planIds, approvals: [approval] })).has(approval);
  }
}
