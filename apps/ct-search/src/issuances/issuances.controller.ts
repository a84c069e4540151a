import { prefersHtml, Public, requestReading } from '@certwright/service';
import {
  type IssuanceExpansion,
  issuanceExpansion,
  IssuanceSchema,
  PresentIssuances,
} from '@certwright/issuance-json';
import { Controller, Get, Inject, Param, Query, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Admitted, AdmissionGuard, AdmittedRequest } from '../access/admission.guard';
import { SearchAccess } from '../access/search-access';
import { SearchConfig } from '../config';
import { IndexReaders } from '../ct-index/index-readers';
import { sendBytes, sendJson } from '../wire/response';
import { Describes, issuanceId, pageHeadersDescribed } from '../wire/openapi';
import { ExpandQuery, pageHeaders } from '../wire/paging';
import { findIssuances, issuanceOf, searchPageSize } from './find-issuances';
import { contentSecurityPolicy, expansionOfPage, issuancePage } from './issuance-page';
import { SearchQuery } from './search-query';

const varyByAccept = { vary: 'Accept' };

/** A browser gets a page instead of the JSON. */
const pageHeadersOfHtml = {
  ...varyByAccept,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentSecurityPolicy,
  'referrer-policy': 'no-referrer',
};

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
    const sinceMs = performance.now();
    const { issuances, isCut } = await findIssuances(reader, query);
    const page = await this.present.page(reader, issuances, issuanceExpansion(query.expand), sinceMs);
    const mayGoOn = isCut || issuances.length === searchPageSize;
    const next = { address: this.address, parameters: query.parameters(), expand: query.expand };
    sendJson(reply, page.json, pageHeaders(issuances, page.count, mayGoOn, next));
  }

  @Get(':id')
  @Describes({
    operationId: 'getIssuancesId',
    summary: 'Retrieves one issuance',
    description:
      'Also one that has expired, while it is kept. With `Accept: text/html`, as browsers send it, the response is a page.',
    access: 'either',
    success: { type: IssuanceSchema },
    fails: { not_found: 'No such issuance' },
  })
  @issuanceId
  async retrieve(
    @AdmittedRequest() { access }: Admitted,
    @Param('id') id: string,
    @Query(requestReading) { expand }: ExpandQuery,
    @Req() { headers }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const reader = this.readers.within(access);
    const sinceMs = performance.now();
    const issuance = await issuanceOf(reader, id);
    const present = async (expansion: IssuanceExpansion) =>
      await this.present.one(reader, issuance, expansion, sinceMs);
    if (prefersHtml(headers.accept)) {
      const shown = JSON.parse(await present(expansionOfPage)) as IssuanceSchema;
      sendBytes(reply, issuancePage(shown, `${this.address}/${shown.id}.pem`), pageHeadersOfHtml);
      return;
    }
    sendJson(reply, await present(issuanceExpansion(expand)), varyByAccept);
  }
}
