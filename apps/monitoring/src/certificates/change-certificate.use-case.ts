import { AccountEvents } from '@certwright/delivery';
import { type CallerIdentity, type HttpResponse, jsonResponse } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { type AccountChange, MonitoringChanges } from '../changes/monitoring-changes';
import { AddKnownObject } from '../known/add-known-object.use-case';
import { identityOf, knownKeys, maxNames } from '../known/known-keys';
import { keyNotAuthorizable, noSuchCertificate, nothingToAcknowledge } from '../wire/problems';
import { certificateJson, digestInPath, type MonitoredCertificateRequest } from './certificate';
import { Issuances } from './issuances';
import { type Finding, type FindingChange, Findings } from './findings.repository';

type Request = Partial<MonitoredCertificateRequest>;

/** Acknowledges a certificate, withdraws that, or authorizes its key. */
@Injectable()
export class ChangeCertificate {
  constructor(
    private readonly changes: MonitoringChanges,
    private readonly findings: Findings,
    private readonly known: AddKnownObject,
    private readonly events: AccountEvents,
    private readonly issuances: Issuances,
  ) {}

  /** @throws Problem `not_found`, `conflict` */
  async run(caller: CallerIdentity, digest: string, request: Request): Promise<HttpResponse> {
    const tbsSha256 = digestInPath(digest);
    const finding = await this.changes.run(caller, async (change) => {
      const { tx, accountId, record } = change;
      const before = await this.findings.locked(tx, accountId, tbsSha256);
      if (before === null) throw noSuchCertificate();
      if (request.authorize_key === true) await this.authorizeKey(change, before);
      const after = changed(before, request);
      if (after.state !== before.state) {
        await this.findings.change(tx, accountId, tbsSha256, after, caller.keyId);
        const subject = `finding:${tbsSha256.toString('hex')}`;
        await this.events.cancel(tx, [{ accountId, subject }]);
      } else if (after.note !== before.note) {
        await this.findings.setNote(tx, accountId, tbsSha256, after.note);
      } else return before;
      const name = tbsSha256.toString('hex');
      const values = { before: recorded(before), after: recorded(after) };
      await record({ object: 'certificate', name, action: 'changed', ...values });
      return (await this.findings.get(accountId, tbsSha256, tx)) ?? before;
    });
    // The index may be slow: the transaction has ended.
    const issuances = await this.issuances.ofOne(caller.accountId, finding);
    return jsonResponse(200, certificateJson(finding, issuances));
  }

  /** For exactly its monitored names: the worker applies the known key to other certificates. */
  private async authorizeKey(
    change: AccountChange,
    { spki_sha256, endpoints, endpoint_count, source }: Finding,
  ): Promise<void> {
    if (spki_sha256 === null || source === 'test')
      throw keyNotAuthorizable('It has no key that can be authorized: it is a test or cannot be read.');
    if (endpoint_count > maxNames)
      throw keyNotAuthorizable(`It has more than ${maxNames} monitored names: authorize the certificate.`);
    if (endpoints.some(({ odd_name }) => odd_name))
      throw keyNotAuthorizable('It has text that is not a DNS name: authorize the certificate.');
    const names = [...new Set(endpoints.map(({ dns_name }) => dns_name))].sort();
    const identity = identityOf(spki_sha256, names);
    await this.known.add(change, knownKeys, { identity, note: undefined });
  }
}

/** @throws Problem `conflict` */
function changed(
  before: Finding,
  { acknowledged, note = before.note, authorize_key }: Request,
): FindingChange {
  const { state, reason } = before;
  if (authorize_key === true && state !== 'known') return { state: 'known', reason: 'known_key', note };
  if (acknowledged === true && state === 'known' && authorize_key !== true) throw nothingToAcknowledge();
  if (acknowledged === true && state !== 'known') return { state: 'acknowledged', reason, note };
  if (acknowledged === false && state === 'acknowledged')
    return { state: 'unknown', reason: 'unknown', note };
  return { state, reason, note };
}

const recorded = ({ state, reason, note }: FindingChange) => ({ state, reason, note });
