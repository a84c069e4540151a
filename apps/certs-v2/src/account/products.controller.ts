import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { jsonResponse, sendResponse } from '../wire/response';
import { fieldsIn, readArguments, type Sent } from '../wire/arguments';
import { DescribesGet } from '../wire/openapi/operation';
import { PricingJson } from './pricing-json';
import { OfferQuery, PricingQuery, ProductQuery } from './product-query';
import { QuoteCertificate } from './quote-certificate.use-case';
import { ApprovalWaysJson, RetrieveApprovalMethods } from './retrieve-approval-methods.use-case';
import { ProductOfferJson, RetrieveProduct } from './retrieve-product.use-case';

const productType = ApiParam({ name: 'type', type: String, description: 'dv or ev.' });

/** Data for callers before they buy a certificate. */
@Controller('api/v2')
@RequirePermission('Order and Manage Certificates')
export class ProductsController {
  constructor(
    private readonly quoting: QuoteCertificate,
    private readonly approval: RetrieveApprovalMethods,
    private readonly product: RetrieveProduct,
  ) {}

  @Get('pricing')
  @DescribesGet({
    summary: 'Returns the price of a certificate',
    query: PricingQuery,
    returns: PricingJson,
    failsWith: ['missing_param', 'bad_cn', 'bad_sans', 'bad_type', 'product_unavailable'],
  })
  async pricing(@Caller() { accountId }: CallerIdentity, @Query() query: Sent, @Res() reply: FastifyReply) {
    const { type = 'dv', cn, custom_sans, san = [] } = readArguments(PricingQuery, fieldsIn(query));
    const sans = custom_sans === true ? san : null;
    sendResponse(reply, jsonResponse(await this.quoting.run(accountId, type, cn, sans)));
  }

  @Get('products/:type')
  @productType
  @DescribesGet({
    summary: 'Price and approval of a product for one name, for clients up to version 1.7',
    query: OfferQuery,
    returns: ProductOfferJson,
    failsWith: ['missing_param', 'bad_cn', 'bad_sans', 'bad_type', 'bad_param', 'product_unavailable'],
  })
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @Param('type') type: string,
    @Query() query: Sent,
    @Res() reply: FastifyReply,
  ) {
    const parameters = readArguments(OfferQuery, { ...fieldsIn(query), type });
    sendResponse(reply, jsonResponse(await this.product.run(accountId, parameters)));
  }

  @Get('products/:type/approval')
  @productType
  @DescribesGet({
    summary: 'Returns how a name can be approved',
    query: ProductQuery,
    returns: ApprovalWaysJson,
    failsWith: ['missing_param', 'bad_cn', 'bad_type', 'product_unavailable'],
  })
  async approvalMethods(
    @Caller() { accountId }: CallerIdentity,
    @Param('type') type: string,
    @Query() query: Sent,
    @Res() reply: FastifyReply,
  ) {
    const parameters = readArguments(ProductQuery, { ...fieldsIn(query), type });
    sendResponse(reply, jsonResponse(await this.approval.run(accountId, parameters)));
  }
}
