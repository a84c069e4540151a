import { Public, requestReading } from '@certwright/service';
import { issuanceExpansion, IssuanceSchema, PresentIssuances } from '@certwright/issuance-json';
import { Controller, Get, Inject, Param, Query, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Admitted, AdmissionGuard, AdmittedRequest } from '../access/admission.guard';
import { SearchAccess } from '../access/search-access';
import { SearchConfig } from '../config';
import { IndexReaders } from '../ct-index/index-readers';
import { sendJson } from '../wire/response';
import { Describes, issuanceId, pageHeadersDescribed } from '../wire/openapi';
import { ExpandQuery, pageHeaders } from '../wire/paging';
import { findIssuances, issuanceOf, searchPageSize } from './find-issuances';
import { SearchQuery } from './search-query';

/** No API key is required (`Public`): `AdmissionGuard` admits requests, with a key or without. */
@Controller('v1/issuances')
@Public()
@UseGuards(AdmissionGuard)
export class IssuancesController {
  private readonly address: string;

  constructor(
    private readonly access: SearchAccess,
    private readonly readers: IndexReaders,
    private readonly present: PresentIssuances,
    @Inject(SearchConfig) { PUBLIC_URL }: Pick<SearchConfig, 'PUBLIC_URL'>,
  ) {
    this.address = `${PUBLIC_URL}/v1/issuances`;
  }

  @Get()
  @Describes({
    operationId: 'getIssuances',
    summary: 'Lists the unexpired issuances of a domain, in the order of discovery',
    description:
      'At most 100 on a page. Pass the id of the last one as after until a page is empty, then again when Retry-After is over.',
    access: 'either',
    success: { type: [IssuanceSchema] },
    headers: pageHeadersDescribed,
    fails: { bad_query: 'A parameter is not valid' },
  })
  async search(
    @AdmittedRequest() { access, addressKey }: Admitted,
    @Query(requestReading) query: SearchQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.access.countAnonymous(access, addressKey, query.include_subdomains ? 'subdomains' : 'single');
    const reader = this.readers.within(access);
    const { issuances, isCut } = await findIssuances(reader, query);
    const page = await this.present.page(reader, issuances, issuanceExpansion(query.expand));
    const mayGoOn = isCut || issuances.length === searchPageSize;
    const next = { address: this.address, parameters: query.parameters(), expand: query.expand };
    sendJson(reply, page.json, pageHeaders(issuances, page.count, mayGoOn, next));
  }

  @Get(':id')
  @Describes({
    operationId: 'getIssuancesId',
    summary: 'Retrieves one issuance',
    description: 'Also one that has expired, while it is kept.',
    access: 'either',
    success: { type: IssuanceSchema },
    fails: { not_found: 'No such issuance' },
  })
  @issuanceId
  async retrieve(
    @AdmittedRequest() { access }: Admitted,
    @Param('id') id: string,
    @Query(requestReading) { expand }: ExpandQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const reader = this.readers.within(access);
    const issuance = await issuanceOf(reader, id);
    sendJson(reply, await this.present.one(reader, issuance, issuanceExpansion(expand)));
  }
}
