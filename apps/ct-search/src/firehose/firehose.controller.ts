import { type IssuancePage, pageOfAll, positionBefore } from '@certwright/ct-index';
import { Problem } from '@certwright/errors';
import { Public, requestReading } from '@certwright/service';
import { issuanceExpansion, IssuanceSchema, PresentIssuances } from '@certwright/issuance-json';
import { Controller, Get, Inject, Query, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Admitted, AdmissionGuard, AdmittedRequest, FirehoseGuard } from '../access/admission.guard';
import { SearchConfig } from '../config';
import { type IndexReader, IndexReaders } from '../ct-index/index-readers';
import { sendJson } from '../wire/response';
import { Describes, pageHeadersDescribed } from '../wire/openapi';
import { AfterMember, ExpandQuery, pageHeaders } from '../wire/paging';
import { PageTurns } from './page-turns';

class FirehoseQuery extends ExpandQuery {
  @AfterMember('what was discovered an hour ago')
  readonly after: string | null = null;
}

/** Every issuance in the order of discovery, for accounts whose plan includes it. */
@Controller('v1/issuances/firehose')
@Public()
@UseGuards(AdmissionGuard, FirehoseGuard)
export class FirehoseController {
  private readonly address: string;
  private readonly turns = new PageTurns();

  constructor(
    private readonly readers: IndexReaders,
    private readonly present: PresentIssuances,
    @Inject(SearchConfig) { PUBLIC_URL }: Pick<SearchConfig, 'PUBLIC_URL'>,
  ) {
    this.address = `${PUBLIC_URL}/v1/issuances/firehose`;
  }

  @Get()
  @Describes({
    operationId: 'getIssuancesFirehose',
    summary: 'Streams every issuance as it is logged',
    description:
      'At most 1,000 on a page. Needs a subscription that includes the firehose. Issuances discovered more than 24 hours ago are no longer streamed: 410 lagging_client.',
    access: 'key',
    success: { type: [IssuanceSchema] },
    headers: pageHeadersDescribed,
    fails: {
      bad_query: 'A parameter is not valid',
      not_allowed_by_plan: 'The subscription does not include the firehose',
      lagging_client: 'The cursor is too old; start again without after',
    },
  })
  async stream(
    @AdmittedRequest() { access }: Admitted,
    @Query(requestReading) { after, expand }: FirehoseQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const reader = this.readers.within(access);
    const { json, headers } = await this.turns.run(access, async () => {
      const expansion = issuanceExpansion(expand);
      const sinceMs = performance.now();
      const { issuances, isCut } = await streamPage(reader, after, new Date(), expansion.dnsNames);
      const page = await this.present.page(reader, issuances, expansion, sinceMs);
      const mayGoOn = isCut || issuances.length === streamPageSize;
      const next = { address: this.address, parameters: {}, expand };
      return { json: page.json, headers: pageHeaders(issuances, page.count, mayGoOn, next) };
    });
    sendJson(reply, json, headers);
  }
}

/** Max issuances on a page of the stream. */
const streamPageSize = 1_000;

/** How far back the stream starts without `after`, and the max age of `after`. */
const [beginsBackMs, retainedMs] = [3_600_000, 24 * 3_600_000];

/**
 * The next issuances with any names, also expired ones, in the order of discovery. A client that is up to date never lags,
 * however long nothing was discovered: the age of the next issuance counts. An id after the newest issuance returns the
 * end of the stream, as a database replica may lag for a moment.
 *
 * @param after null: starts with the discoveries of the last hour
 * @throws Problem `lagging_client`, `timeout`, `service_outage`
 */
async function streamPage(
  reader: IndexReader,
  after: string | null,
  now: Date,
  withNames: boolean,
): Promise<IssuancePage> {
  const from = after ?? (await positionBefore(reader, new Date(now.getTime() - beginsBackMs)));
  const page = await pageOfAll(reader, { after: from, limit: streamPageSize }, withNames);
  const [next] = page.issuances;
  if (next !== undefined && next.discoveredAtMs < now.getTime() - retainedMs) {
    throw new Problem(
      'lagging_client',
      'Issuances after this id were discovered more than 24 hours ago and are no longer streamed. Omit after to start again with the last hour.',
      { field: 'after' },
    );
  }
  return page;
}
