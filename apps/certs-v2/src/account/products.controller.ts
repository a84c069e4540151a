import { Caller, type CallerIdentity, RequirePermission } from '@certwright/service';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { jsonAnswer, sendAnswer } from '../wire/answer';
import { type PricingQuery, QuoteCertificate } from './quote-certificate.use-case';
import { RetrieveApprovalMethods } from './retrieve-approval-methods.use-case';
import { RetrieveProduct } from './retrieve-product.use-case';

/** What somebody asks for before a certificate is bought. */
@Controller('api/v2')
@RequirePermission('Order and Manage Certificates')
export class ProductsController {
  constructor(
    private readonly quoting: QuoteCertificate,
    private readonly approval: RetrieveApprovalMethods,
    private readonly product: RetrieveProduct,
  ) {}

  @Get('pricing')
  async pricing(
    @Caller() { accountId }: CallerIdentity,
    @Query() query: PricingQuery,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, jsonAnswer(await this.quoting.run(accountId, query)));
  }

  @Get('products/:type')
  async retrieve(
    @Caller() { accountId }: CallerIdentity,
    @Param('type') type: string,
    @Query() query: PricingQuery,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, jsonAnswer(await this.product.run(accountId, type, query)));
  }

  @Get('products/:type/approval')
  async approvalMethods(
    @Caller() { accountId }: CallerIdentity,
    @Param('type') type: string,
    @Query('cn') cn: unknown,
    @Res() reply: FastifyReply,
  ) {
    sendAnswer(reply, jsonAnswer(await this.approval.run(accountId, type, cn)));
  }
}
