import { type HttpResponse, jsonResponse, maxPageSize } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { noSuchCertificate } from '../wire/problems';
import { certificateJson, digestInPath, type MonitoredCertificatesQuery } from './certificate';
import { Issuances } from './issuances';
import { Findings } from './findings.repository';

@Injectable()
export class RetrieveCertificates {
  constructor(
    private readonly findings: Findings,
    private readonly issuances: Issuances,
    private readonly addresses: Addresses,
  ) {}

  async page(accountId: string, query: MonitoredCertificatesQuery): Promise<HttpResponse> {
    const { state, monitored_domain: monitoredDomain, after, limit } = query;
    const page = { state, monitoredDomain, after, limit: limit + 1 };
    const found = await this.findings.page(accountId, page);
    const { count, issuances } = await this.issuances.ofPage(accountId, found.slice(0, limit));
    const shown = found.slice(0, count);
    const last = shown.at(-1);
    const json = shown.map((finding) => certificateJson(finding, issuances));
    if (found.length <= count || last === undefined) return jsonResponse(200, json);
    const next = new URLSearchParams({ after: last.cursor });
    if (limit !== maxPageSize) next.set('limit', String(limit));
    if (state !== undefined) next.set('state', state);
    if (monitoredDomain !== undefined) next.set('monitored_domain', monitoredDomain);
    const address = this.addresses.list('certificates');
    return jsonResponse(200, json, { link: `<${address}?${next.toString()}>; rel="next"` });
  }

  /** @throws Problem `not_found` */
  async one(accountId: string, digest: string): Promise<HttpResponse> {
    const found = await this.findings.get(accountId, digestInPath(digest));
    if (found === null) throw noSuchCertificate();
    return jsonResponse(200, certificateJson(found, await this.issuances.ofOne(accountId, found)));
  }
}
