import { Public } from '@certwright/service';
import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Admission } from '../admission/admission';
import { SearchConfig } from '../config';
import { IndexReaders } from '../ct-index/index-readers';
import { pageHeaders } from '../issuances/page-headers';
import { PresentIssuances } from '../issuances/present-issuances';
import { sendJson } from '../wire/answer';
import { expandedNames, issuanceExpansion } from '../wire/expansion';
import { nextPageLink } from '../wire/next-page';
import { type Query as QueryParameters, QueryReading } from '../wire/query';
import { streamPage, streamPageSize } from './stream-page';

/** Every issuance as it is logged, for those whose plan includes it. */
@Controller('v1/issuances/firehose')
@Public()
export class FirehoseController {
  private readonly address: string;

  constructor(
    private readonly admission: Admission,
    private readonly readers: IndexReaders,
    private readonly present: PresentIssuances,
    @Inject(SearchConfig) { PUBLIC_URL }: Pick<SearchConfig, 'PUBLIC_URL'>,
  ) {
    this.address = `${PUBLIC_URL}/v1/issuances/firehose`;
  }

  @Get()
  async stream(
    @Req() request: FastifyRequest,
    @Query() parameters: QueryParameters,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { access } = await this.admission.admitToFirehose(request);
    const reading = new QueryReading(parameters);
    const after = reading.after();
    reading.assertNoFaults();
    const expanded = expandedNames(parameters['expand']);
    const reader = this.readers.within(access);
    const { issuances, isCut } = await streamPage(reader, after, new Date());
    const page = await this.present.page(reader, issuances, issuanceExpansion(expanded));
    const mayGoOn = isCut || issuances.length === streamPageSize;
    const next = (position: string) => nextPageLink(this.address, {}, expanded, position);
    sendJson(reply, page.json, pageHeaders(issuances, page.count, mayGoOn, next));
  }
}
