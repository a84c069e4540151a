import { Public } from '@certwright/service';
import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Admission } from '../admission/admission';
import { SearchConfig } from '../config';
import { IndexReaders } from '../ct-index/index-readers';
import { sendJson } from '../wire/answer';
import { expandedNames, issuanceExpansion } from '../wire/expansion';
import { nextPageLink } from '../wire/next-page';
import type { Query as QueryParameters } from '../wire/query';
import { issuanceOf } from './find-issuance';
import { findIssuances, searchPageSize } from './find-issuances';
import { pageHeaders } from './page-headers';
import { PresentIssuances } from './present-issuances';
import { parametersOf, readSearchQuery } from './search-query';

/** Whoever asks is let in by `Admission`, with a key or without. */
@Controller('v1/issuances')
@Public()
export class IssuancesController {
  private readonly address: string;

  constructor(
    private readonly admission: Admission,
    private readonly readers: IndexReaders,
    private readonly present: PresentIssuances,
    @Inject(SearchConfig) { PUBLIC_URL }: Pick<SearchConfig, 'PUBLIC_URL'>,
  ) {
    this.address = `${PUBLIC_URL}/v1/issuances`;
  }

  @Get()
  async search(
    @Req() request: FastifyRequest,
    @Query() parameters: QueryParameters,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const admitted = await this.admission.admit(request);
    const query = readSearchQuery(parameters);
    await this.admission.count(admitted, query.includeSubdomains ? 'subdomains' : 'single');
    const reader = this.readers.within(admitted.access);
    const { issuances, isCut } = await findIssuances(reader, query, query.after);
    const page = await this.present.page(reader, issuances, issuanceExpansion(query.expanded));
    const mayGoOn = isCut || issuances.length === searchPageSize;
    const next = (after: string) => nextPageLink(this.address, parametersOf(query), query.expanded, after);
    sendJson(reply, page.json, pageHeaders(issuances, page.count, mayGoOn, next));
  }

  @Get(':id')
  async retrieve(
    @Req() request: FastifyRequest,
    @Param('id') id: string,
    @Query('expand') expand: unknown,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { access } = await this.admission.admit(request);
    const reader = this.readers.within(access);
    const issuance = await issuanceOf(reader, id);
    sendJson(reply, await this.present.one(reader, issuance, issuanceExpansion(expandedNames(expand))));
  }
}
